package server

import (
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A generation serves the connections of one accepted Listener with its filter chains. It drains when another
// generation replaces it.
type generation struct {
	config   *Config
	addr     net.Addr
	listener *listener.Update
	created  time.Time
	number   uint64 // among the generations of the port

	handshakes *handshakes

	mu      sync.Mutex
	routes  *routes
	servers map[*listener.FilterChain]*chainServer
	closed  bool // no new servers: the generation drains or has stopped
	// closedAt is the time when closed was set.
	closedAt time.Time

	stopping func()        // closes stopped
	stopped  chan struct{} // closed when the generation has stopped and need not drain
}

// A chainServer serves the connections of one filter chain.
type chainServer struct {
	*grpc.Server
	lobby   *lobby
	tls     *security.Server
	release func() // releases tls
	logger  *slog.Logger
	// connections is the number of open connections.
	connections atomic.Int64
	routing     atomic.Pointer[routing]
}

func newGeneration(c *Config, addr net.Addr, u *listener.Update, r *routes) *generation {
	g := &generation{
		config: c, addr: addr, listener: u, routes: r, created: time.Now(),
		handshakes: newHandshakes(),
		servers:    make(map[*listener.FilterChain]*chainServer),
		stopped:    make(chan struct{}),
	}
	g.stopping = sync.OnceFunc(func() { close(g.stopped) })
	return g
}

// take serves a connection, or closes it if no filter chain matches. It returns false, and leaves the connection
// open, if the generation accepts no more connections.
func (g *generation) take(raw net.Conn) bool {
	chain := g.listener.FilterChain(listener.ConnOf(raw))
	if chain == nil {
		_ = raw.Close() // required by A36
		return true
	}
	s := g.server(chain)
	if s == nil {
		return false
	}
	c := g.handshakes.begin(security.NewConn(raw, s.tls), &s.connections)
	if c == nil {
		return false
	}
	s.lobby.hand(c)
	return true
}

// server returns the server of a filter chain. It makes the server for the first connection. It returns nil if the
// generation accepts no more connections.
func (g *generation) server(chain *listener.FilterChain) *chainServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.servers[chain]
	if s != nil || g.closed {
		return s
	}
	s = &chainServer{logger: g.config.Logger, lobby: newLobby(g.addr), tls: g.config.Providers.Server(chain.TLS)}
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

// route applies other routes to all later calls.
func (g *generation) route(r *routes) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.routes = r
	for chain, s := range g.servers {
		s.routing.Store(r.of(chain.Manager()))
	}
}

// drain waits until the calls in flight end, at most for the grace period. A negative grace period sets no limit.
// Clients are told to send no more calls as soon as the handshakes have ended, for which there is a limit.
func (g *generation) drain(grace time.Duration) {
	servers := g.refuse()
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

// stop ends everything at once. It may be called more than once, and during drain.
func (g *generation) stop() {
	servers := g.refuse()
	g.stopping()
	g.handshakes.seal()
	g.handshakes.closeAll()
	each(servers, (*grpc.Server).Stop)
}

// refuse makes take refuse connections, and returns the existing servers.
func (g *generation) refuse() []*chainServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed, g.closedAt = true, time.Now()
	}
	return slices.Collect(maps.Values(g.servers))
}

// each ends all servers in parallel, and waits for them.
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
