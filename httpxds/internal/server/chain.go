package server

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
)

// A backend serves the connections of one port.
type backend struct {
	config    *Config
	lobby     *server.Lobby
	protocols []string // for ALPN
	instances filters.Holder[httpfilter.ServerInstance]
	forward   http.Handler // of the routes to clusters
	port      string       // on which it listens
}

var _ server.Backend[*routing] = (*backend)(nil)

func newBackend(c *Config, addr net.Addr, protocols []string) *backend {
	_, port, _ := net.SplitHostPort(addr.String()) // server.NewPort rejects other addresses
	return &backend{config: c, lobby: server.NewLobby(addr), protocols: protocols, forward: forwarding(c.Forward), port: port}
}

// A chain serves the connections of one filter chain in one generation.
type chain struct {
	config    *Config
	lobby     *server.Lobby
	protocols []string
	tls       *security.Server
	admission admission
	routing   atomic.Pointer[routing]
	draining  atomic.Bool

	mu    sync.Mutex
	conns map[*conn]struct{}
	empty chan struct{} // closed when the chain drains and has no connections
}

var _ server.Chain[*routing] = (*chain)(nil)

// Chain implements [server.Backend].
func (b *backend) Chain(o server.Opening[*routing]) server.Chain[*routing] {
	c := &chain{
		config: b.config, lobby: b.lobby, protocols: b.protocols, tls: o.TLS,
		conns: make(map[*conn]struct{}), empty: make(chan struct{}),
	}
	c.admission.port = b.port
	if m := o.FilterChain.Manager(); m != nil && m.HTTP != nil {
		c.admission.HTTPSettings = *m.HTTP
	}
	c.routing.Store(o.Routing)
	return c
}

// Serve implements [server.Chain].
func (c *chain) Serve(raw net.Conn) bool {
	one := &conn{Conn: security.NewConn(raw, c.tls), chain: c}
	one.shaken.Store(c.tls == nil)
	c.mu.Lock()
	if c.draining.Load() {
		c.mu.Unlock()
		return false
	}
	c.conns[one] = struct{}{}
	c.mu.Unlock()
	c.lobby.Hand(one.accepted())
	return true
}

// remove counts a connection that has ended.
func (c *chain) remove(one *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, one)
	c.check()
}

// check closes empty once the chain drains and has no connections. c.mu is held.
func (c *chain) check() {
	if len(c.conns) > 0 || !c.draining.Load() {
		return
	}
	select {
	case <-c.empty:
	default:
		close(c.empty)
	}
}

// Route implements [server.Chain].
func (c *chain) Route(r *routing) { c.routing.Store(r) }

// Drain implements [server.Chain]. The next response of each connection lets the client use another one.
func (c *chain) Drain() {
	c.drain()
	<-c.empty
}

func (c *chain) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining.Store(true)
	c.check()
}

// Stop implements [server.Chain].
func (c *chain) Stop() {
	c.drain()
	c.mu.Lock()
	all := make([]*conn, 0, len(c.conns))
	for one := range c.conns {
		all = append(all, one)
	}
	c.mu.Unlock()
	for _, one := range all {
		_ = one.Close() // the connection is no longer needed
	}
}

// Connections implements [server.Chain].
func (c *chain) Connections() (open int64, handshakes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.conns {
		if !one.shaken.Load() {
			handshakes++
		}
	}
	return int64(len(c.conns)), handshakes
}

// serve is the handler of all requests.
func serve(w http.ResponseWriter, r *http.Request) {
	if c := chainOf(r.Context()); c != nil {
		c.ServeHTTP(w, r)
		return
	}
	fail(w, http.StatusServiceUnavailable) // ConnContext of the template has dropped the context
}

// ServeHTTP implements [http.Handler].
func (c *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength < 0 && r.Trailer == nil {
		r.Trailer = make(http.Header) // otherwise net/http would give the trailers to this request, and not to its copies
	}
	if c.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	routes := c.acquire()
	if routes == nil {
		fail(w, http.StatusServiceUnavailable)
		return
	}
	defer routes.set.Release()
	r, err := resolved(r, c.config.EscapedSlashes)
	if err == nil {
		err = nomination(r)
	}
	if err != nil {
		c.config.Logger.Debug("rejected a request", "error", err)
		fail(w, http.StatusBadRequest)
		return
	}
	r = c.admission.admit(r)
	routes.handler(r).ServeHTTP(w, r)
}

// acquire returns the routing in use, and counts the request. It returns nil after the chain has ended.
func (c *chain) acquire() *routing {
	for {
		r := c.routing.Load()
		if r == nil {
			return nil
		}
		if r.set.Acquire() {
			return r
		}
		if c.routing.Load() == r {
			return nil
		}
	}
}

// fail responds with a status and its text. It names neither resources nor control planes.
func fail(w http.ResponseWriter, code int) { http.Error(w, http.StatusText(code), code) }
