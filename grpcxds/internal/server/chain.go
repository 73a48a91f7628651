package server

import (
	"crypto/x509"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
)

// A chainServer serves the connections of one filter chain.
type chainServer struct {
	*grpc.Server
	lobby          *server.Lobby
	tls            *security.Server
	certificate    func() *x509.Certificate // nil without TLS
	logger         *slog.Logger
	handshakes     *handshakes
	handshakeLimit time.Duration
	// connections is the number of open connections.
	connections atomic.Int64
	routing     atomic.Pointer[routing]

	stopping func()        // closes stopped
	stopped  chan struct{} // closed when the server has stopped and need not drain
}

var _ server.Chain[*routing] = (*chainServer)(nil)

// Chain implements [server.Backend].
func (b *backend) Chain(o server.Opening[*routing]) server.Chain[*routing] {
	s := &chainServer{
		lobby: server.NewLobby(o.Addr), tls: o.TLS, logger: b.config.Logger,
		handshakes: newHandshakes(), handshakeLimit: b.config.HandshakeLimit, stopped: make(chan struct{}),
	}
	if o.TLS != nil {
		s.certificate = o.TLS.Certificate
	}
	s.stopping = sync.OnceFunc(func() { close(s.stopped) })
	s.Server = grpc.NewServer(append([]grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
	}, b.config.Options...)...)
	b.config.Register(s)
	s.routing.Store(o.Routing)
	go s.Server.Serve(s.lobby) //nolint:errcheck // it ends with the server
	return s
}

// Serve implements [server.Chain].
func (s *chainServer) Serve(raw net.Conn) bool {
	c := s.handshakes.begin(security.NewConn(raw, s.tls), &s.connections)
	if c == nil {
		return false
	}
	s.lobby.Hand(c)
	return true
}

// Route implements [server.Chain].
func (s *chainServer) Route(r *routing) { s.routing.Store(r) }

// Drain implements [server.Chain]. Clients are told to send no more calls as soon as the handshakes have ended, for
// which there is a limit.
func (s *chainServer) Drain() {
	select {
	case <-s.handshakes.seal():
	case <-s.stopped:
		return
	}
	defer time.AfterFunc(s.handshakeLimit, s.handshakes.closeAll).Stop()
	s.GracefulStop()
}

// Stop implements [server.Chain].
func (s *chainServer) Stop() {
	s.stopping()
	s.handshakes.seal()
	s.handshakes.closeAll()
	s.Server.Stop()
}

// Connections implements [server.Chain].
func (s *chainServer) Connections() (open int64, handshakes int) {
	return s.connections.Load(), s.handshakes.count()
}
