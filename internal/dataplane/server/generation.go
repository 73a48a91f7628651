package server

import (
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A generation serves the connections of one accepted Listener with its filter chains. It drains when another
// generation replaces it.
type generation[R Routing] struct {
	config   *Config
	backend  Backend[R]
	addr     net.Addr
	listener *listener.Update
	created  time.Time
	number   uint64 // among the generations of the port

	mu     sync.Mutex
	routes table[R]
	chains map[*listener.FilterChain]*chain[R]
	closed bool // no new chains: the generation drains or has stopped
	// closedAt is the time when closed was set.
	closedAt time.Time
	ended    bool // the routes are released
}

// A chain is a [Chain] with the release of its TLS.
type chain[R Routing] struct {
	Chain[R]
	release func()
}

// take serves a connection, or closes it if no filter chain matches. It returns false, and leaves the connection
// open, if the generation accepts no more connections.
func (g *generation[R]) take(raw net.Conn) bool {
	match := g.listener.FilterChain(listener.ConnOf(raw))
	if match == nil {
		_ = raw.Close() // required by A36
		return true
	}
	c := g.chain(match)
	return c != nil && c.Serve(raw)
}

// chain returns the chain of a filter chain. It creates the chain for the first connection. It returns nil if the
// generation accepts no more connections.
func (g *generation[R]) chain(match *listener.FilterChain) *chain[R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.chains[match]
	if c != nil || g.closed {
		return c
	}
	tls := g.config.Providers.Server(match.TLS)
	c = &chain[R]{release: sync.OnceFunc(tls.Close)}
	c.Chain = g.backend.Chain(Opening[R]{Addr: g.addr, FilterChain: match, TLS: tls, Routing: g.routes[match]})
	g.chains[match] = c
	return c
}

// route applies other routes to all later calls.
func (g *generation[R]) route(t table[R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		t.release()
		return
	}
	for match, c := range g.chains {
		c.Route(t[match])
	}
	g.routes.release()
	g.routes = t
}

// end releases the routes.
func (g *generation[R]) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.ended = true
		g.routes.release()
	}
}

// drain waits until the calls in flight end, at most for the grace period. A negative grace period sets no limit.
func (g *generation[R]) drain(grace time.Duration) {
	chains := g.refuse()
	if grace >= 0 {
		defer time.AfterFunc(grace, g.stop).Stop()
	}
	each(chains, Chain[R].Drain)
	g.end()
}

// stop ends everything at once. It may be called more than once, and during drain.
func (g *generation[R]) stop() {
	each(g.refuse(), Chain[R].Stop)
	g.end()
}

// refuse makes take refuse connections of other filter chains, and returns the existing chains.
func (g *generation[R]) refuse() []*chain[R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed, g.closedAt = true, time.Now()
	}
	return slices.Collect(maps.Values(g.chains))
}

// each ends all chains in parallel, and waits for them.
func each[R Routing](chains []*chain[R], end func(Chain[R])) {
	var wg sync.WaitGroup
	for _, c := range chains {
		wg.Go(func() {
			end(c.Chain)
			c.release()
		})
	}
	wg.Wait()
}
