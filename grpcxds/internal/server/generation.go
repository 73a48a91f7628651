package server

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

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
	stopped bool

	stopping chan struct{} // closed when stopped
}

// A chainServer serves the connections of one filter chain.
type chainServer struct {
	*grpc.Server
	lobby   *lobby
	routing atomic.Pointer[routing]
}

func newGeneration(c *Config, addr net.Addr, u *listener.Update, r *routes) *generation {
	return &generation{
		config: c, addr: addr, listener: u, routes: r,
		handshakes: newHandshakes(),
		servers:    make(map[*listener.FilterChain]*chainServer),
		stopping:   make(chan struct{}),
	}
}

// take serves a connection, or closes it where no filter chain is for it. It reports
// false, and does nothing, if the generation takes no more.
func (g *generation) take(raw net.Conn) bool {
	c := g.handshakes.begin(raw)
	if c == nil {
		return false
	}
	chain := g.listener.FilterChain(listener.ConnOf(raw))
	if chain == nil {
		_ = c.Close() // the Listener says so (A36)
		return true
	}
	if s := g.server(chain); s != nil {
		s.lobby.hand(g.config.secure(c, chain))
	} else {
		_ = c.Close()
	}
	return true
}

// server is the one for a filter chain, which is made for its first connection; nil: the
// generation has stopped.
func (g *generation) server(chain *listener.FilterChain) *chainServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return nil
	}
	s := g.servers[chain]
	if s == nil {
		s = &chainServer{lobby: newLobby(g.addr)}
		s.Server = grpc.NewServer(append([]grpc.ServerOption{
			grpc.ChainUnaryInterceptor(s.unary),
			grpc.ChainStreamInterceptor(s.stream),
		}, g.config.Options...)...)
		g.config.Register(s)
		s.routing.Store(g.routes.of(chain.Manager()))
		g.servers[chain] = s
		go s.Serve(s.lobby) //nolint:errcheck // it ends with the server
	}
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
// negative, as long as they take, and returns when they have. New calls are sent away as soon as the handshakes
// are over, for which there is a limit.
func (g *generation) drain(grace time.Duration) {
	select {
	case <-g.handshakes.seal():
	case <-g.stopping:
		return
	}
	defer time.AfterFunc(g.config.HandshakeLimit, func() { g.handshakes.closeAll() }).Stop()
	if grace >= 0 {
		defer time.AfterFunc(grace, g.stop).Stop()
	}
	g.each((*grpc.Server).GracefulStop)
}

// stop ends everything at once. It may be called more than once, and while it drains.
func (g *generation) stop() {
	g.mu.Lock()
	if !g.stopped {
		g.stopped = true
		close(g.stopping)
	}
	g.mu.Unlock()
	g.handshakes.seal()
	g.handshakes.closeAll()
	g.each((*grpc.Server).Stop)
}

// each does something with all servers at once, and waits for it.
func (g *generation) each(do func(*grpc.Server)) {
	var wg sync.WaitGroup
	g.mu.Lock()
	for _, s := range g.servers {
		wg.Go(func() { do(s.Server) })
	}
	g.mu.Unlock()
	wg.Wait()
}
