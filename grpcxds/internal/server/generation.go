package server

import (
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A generation is one accepted Listener: it serves connections by its filter chains until
// another one takes its place, and then drains.
type generation struct {
	config   *Config
	addr     net.Addr
	listener *listener.Update

	handshakes *handshakes

	mu      sync.Mutex
	routes  *routes
	servers map[*listener.FilterChain]*chainServer
	closed  bool // there will be no more servers: it drains, or has stopped

	stopping func()        // closes stopped
	stopped  chan struct{} // closed when it has stopped, and need not drain
}

// A chainServer serves the connections of one filter chain.
type chainServer struct {
	*grpc.Server
	lobby   *lobby
	tls     *security.Server
	release func() // the tls
	routing atomic.Pointer[routing]
}

func newGeneration(c *Config, addr net.Addr, u *listener.Update, r *routes) *generation {
	g := &generation{
		config: c, addr: addr, listener: u, routes: r,
		handshakes: newHandshakes(),
		servers:    make(map[*listener.FilterChain]*chainServer),
		stopped:    make(chan struct{}),
	}
	g.stopping = sync.OnceFunc(func() { close(g.stopped) })
	return g
}

// take serves a connection, or closes it where no filter chain is for it. It reports
// false, and does nothing, if the generation takes no more.
func (g *generation) take(raw net.Conn) bool {
	chain := g.listener.FilterChain(listener.ConnOf(raw))
	if chain == nil {
		_ = raw.Close() // the Listener says so (A36)
		return true
	}
	s := g.server(chain)
	if s == nil {
		return false
	}
	c := g.handshakes.begin(security.NewConn(raw, s.tls))
	if c == nil {
		return false
	}
	s.lobby.hand(c)
	return true
}

// server is the one for a filter chain, which is made for its first connection; nil: the
// generation takes no more.
func (g *generation) server(chain *listener.FilterChain) *chainServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.servers[chain]
	if s != nil || g.closed {
		return s
	}
	s = &chainServer{lobby: newLobby(g.addr), tls: g.config.Providers.Server(chain.TLS)}
	s.release = sync.OnceFunc(s.tls.Close)
	s.Server = grpc.NewServer(append([]grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
	}, g.config.Options...)...)
	g.config.Register(s)
	s.routing.Store(g.routes.of(chain.Manager()))
	g.servers[chain] = s
	go s.Serve(s.lobby) //nolint:errcheck // it ends with the server
	return s
}

// route has calls go by other routes from now on.
func (g *generation) route(r *routes) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.routes = r
	for chain, s := range g.servers {
		s.routing.Store(r.of(chain.Manager()))
	}
}

// drain lets the calls that have started end, for as long as the grace time or, if that is
// negative, as long as they take, and returns when they have. New calls are sent away as
// soon as the handshakes are over, for which there is a limit.
func (g *generation) drain(grace time.Duration) {
	servers := g.close()
	select {
	case <-g.handshakes.seal():
	case <-g.stopped:
		return
	}
	defer time.AfterFunc(g.config.HandshakeLimit, g.handshakes.closeAll).Stop()
	if grace >= 0 {
		defer time.AfterFunc(grace, g.stop).Stop()
	}
	each(servers, (*grpc.Server).GracefulStop)
}

// stop ends everything at once. It may be called more than once, and while it drains.
func (g *generation) stop() {
	servers := g.close()
	g.stopping()
	g.handshakes.seal()
	g.handshakes.closeAll()
	each(servers, (*grpc.Server).Stop)
}

// close has take refuse from now on, and returns the servers that there are.
func (g *generation) close() []*chainServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return slices.Collect(maps.Values(g.servers))
}

// each ends all servers at once, and waits for it.
func each(servers []*chainServer, end func(*grpc.Server)) {
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			end(s.Server)
			s.release()
		})
	}
	wg.Wait()
}
