package server

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// A stage is a port on a socket in memory, with a backend that records the calls of its chains.
type stage struct {
	t      *testing.T
	server *memoryads.Server
	port   *Port[routing]
	socket *socket
	log    strings.Builder // of the port

	mu     sync.Mutex
	events []string
	chains map[string]*fakeChain // the newest by name
}

// onStage runs a test with a port, in a bubble.
func onStage(t *testing.T, test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		boot, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "memory", "channel_creds": [{"type": "insecure"}]}]}`))
		check(t, err)
		reg := registry.New()
		standard.Register(reg)
		types, err := reg.Freeze()
		check(t, err)
		ads := memoryads.NewServer(memoryads.Type{URL: listener.Type().URL(), Complete: true}, memoryads.Type{URL: route.Type().URL()})
		c, err := client.New(boot, types, client.Options{Transport: memoryads.Network{"memory": ads}})
		check(t, err)
		defer c.Close()
		s := &stage{t: t, server: ads, socket: &socket{conns: make(chan net.Conn), closed: make(chan struct{})}, chains: make(map[string]*fakeChain)}
		s.port, err = NewPort[routing](&Config{
			Package: "test", Client: c, Grace: time.Minute, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
			Report: func(_ net.Addr, err error) { s.record("report %v", err) },
		}, s, s.socket, "web")
		check(t, err)
		served := make(chan error, 1)
		go func() { served <- s.port.Serve() }()
		test(s)
		s.port.Stop()
		check(t, <-served)
	})
}

func (s *stage) record(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf(format, args...))
}

// want waits until all goroutines are idle, and compares the events since the last call, in any order. Events end at " [".
func (s *stage) want(why string, events ...string) {
	s.t.Helper()
	<-time.NewTimer(time.Second).C
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, e := range s.events {
		e, _, _ = strings.Cut(e, " [")
		got = append(got, e)
	}
	slices.Sort(got)
	slices.Sort(events)
	if s.events = nil; !slices.Equal(got, events) {
		s.t.Errorf("%s: the events are\n%s\nwant\n%s", why, strings.Join(got, "\n"), strings.Join(events, "\n"))
	}
}

// described compares the description of the port, without times of the bubble's clock.
func (s *stage) described(why string, lines ...string) {
	s.t.Helper()
	now := time.Now()
	d := s.port.Describe(now)
	reason, _, _ := strings.Cut(d.Reason, " [")
	got := []string{fmt.Sprintf("%s %s %v for %v %s", d.Address, d.Listener, d.Mode, now.Sub(d.Since), reason)}
	for _, g := range d.Generations {
		got = append(got, fmt.Sprintf("generation %s, %v old, draining %v, %d handshakes", g.Version, now.Sub(g.Created), g.Draining, g.Handshakes))
		if g.Draining != 0 && now.Sub(g.DrainingSince) != g.Draining {
			s.t.Errorf("%s: at %v, a generation drains since %v, for %v", why, now, g.DrainingSince, g.Draining)
		}
		for _, c := range g.FilterChains {
			failure, _, _ := strings.Cut(c.Err, " [")
			got = append(got, fmt.Sprintf("chain %q, default %t, TLS %t, routes %s, error %s, %d connections", c.Name, c.Default, c.TLS, c.Routes, failure, c.Connections))
		}
	}
	if !slices.Equal(got, lines) {
		s.t.Errorf("%s: the description is\n%s\nwant\n%s", why, strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// A routing is the name of a RouteConfiguration, or the error of its calls.
type routing struct {
	stage *stage
	chain string
	name  string
	err   error
}

func (r routing) Describe() (string, error) { return r.name, r.err }
func (r routing) Release()                  { r.stage.record("release %s of %s", r.name, r.chain) }

// Compile implements [Backend].
func (s *stage) Compile(list []Routes, p *Problems) (out []routing) {
	p.Judge(list, func(r *route.Route) bool { _, ok := r.Action.(route.NonForwarding); return ok }, "served")
	for _, r := range list {
		one := routing{stage: s, chain: r.FilterChain.Name, err: r.Err}
		if r.Err == nil {
			one.name = r.Update.Name().String() + "/" + r.Update.VirtualHosts[0].Name
		}
		out = append(out, one)
	}
	return out
}

// Chain implements [Backend].
func (s *stage) Chain(o Opening[routing]) Chain[routing] {
	s.record("open %s at %v with %s", o.FilterChain.Name, o.Addr, o.Routing.name)
	c := &fakeChain{stage: s, name: o.FilterChain.Name, idle: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chains[c.name] = c
	return c
}

// A fakeChain has connections that stay open until the test ends its calls.
type fakeChain struct {
	stage *stage
	name  string
	idle  chan struct{} // closed at the end of the calls
	end   sync.Once

	mu      sync.Mutex
	conns   int64
	refuses bool
}

func (c *fakeChain) Serve(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refuses {
		c.conns++
		_ = conn.Close()
	}
	return !c.refuses
}

func (c *fakeChain) Route(r routing) { c.stage.record("route %s to %s", c.name, r.name) }

func (c *fakeChain) Drain() {
	c.stage.record("drain %s", c.name)
	c.mu.Lock()
	c.refuses = true
	c.mu.Unlock()
	<-c.idle
}

func (c *fakeChain) Stop() {
	c.stage.record("stop %s", c.name)
	c.end.Do(func() { close(c.idle) })
}

func (c *fakeChain) Connections() (open int64, handshakes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conns, 3
}

// A socket is a listening socket in memory.
type socket struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (s *socket) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *socket) Close() error { s.once.Do(func() { close(s.closed) }); return nil }

func (*socket) Addr() net.Addr { return &net.TCPAddr{IP: net.IP{127, 0, 0, 1}, Port: 80} }

// A conn has addresses, and counts how often it is closed.
type conn struct {
	net.Conn
	remote net.TCPAddr
	closed chan struct{}
}

func (c *conn) LocalAddr() net.Addr  { return new(socket).Addr() }
func (c *conn) RemoteAddr() net.Addr { return &c.remote }
func (c *conn) Close() error         { close(c.closed); return c.Conn.Close() }

// connect connects from an address. It returns when the connection is with a chain or closed.
func (s *stage) connect(from ...byte) {
	s.t.Helper()
	a, b := net.Pipe()
	_ = b.Close()
	c := &conn{Conn: a, remote: net.TCPAddr{IP: from, Port: 5}, closed: make(chan struct{})}
	s.socket.conns <- c
	<-c.closed
}

func (s *stage) set(url, name string, m proto.Message, text string) {
	s.t.Helper()
	check(s.t, prototext.Unmarshal([]byte(text), m))
	body, err := proto.Marshal(m)
	check(s.t, err)
	s.server.Set(url, memoryads.Resource{Name: name, Body: body})
}

// listener publishes a Listener with the chain "ten", which has the routes "r" and is for peers below 10.0.0.0/8, and more.
func (s *stage) listener(port int, more string) {
	s.t.Helper()
	s.set(listener.Type().URL(), "web", new(listenerv3.Listener), fmt.Sprintf(`name: "web" address { socket_address { address: "127.0.0.1" port_value: %d } }
		filter_chains { name: "ten" filter_chain_match { source_prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } } } %s } %s`,
		port, manager(`rds { config_source { ads {} } route_config_name: "r" }`), more))
}

func manager(routes string) string {
	return `filters { name: "hcm" typed_config { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		` + routes + ` http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`
}

// rest is a default filter chain with a virtual host.
func rest(host string) string {
	return `default_filter_chain { name: "rest" ` + manager(`route_config { name: "own" virtual_hosts { name: "`+host+`" domains: "*" routes { match { prefix: "/" } non_forwarding_action {} } } }`) + ` }`
}

func (s *stage) route(host, action string) {
	s.t.Helper()
	s.set(route.Type().URL(), "r", new(routev3.RouteConfiguration), `name: "r" virtual_hosts { name: "`+host+`" domains: "*" routes { name: "x" match { prefix: "/" } `+action+` } }`)
}

const (
	served   = "non_forwarding_action {}"
	unserved = "redirect {}"
)
