package grpcxds

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/internal/environment"
)

func TestServerWaitsForItsRoutes(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	w.publishListener(s.listener(rds("late")))
	w.eventually("routes are asked for", func() bool {
		for _, r := range w.plane.Requests() {
			if strings.HasSuffix(r.GetTypeUrl(), routeMessage) {
				return true
			}
		}
		return false
	})
	if !s.touch() || len(s.events) > 0 {
		t.Error("it serves without routes")
	}
	w.publishRoutes("late", `virtual_hosts { domains: "*" }`)
	s.awaitServing()
}

// A server with invalid routes serves, and their calls fail.
func TestServerServesWithBadRoutes(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	w.publishListener(s.listener(rds("bad")))
	w.publishRoutes("bad", `virtual_hosts { domains: "*" routes {} }`) // NACKed
	s.awaitServing()
	c := s.dial()
	if st := s.call(c); st.Code() != codes.Unavailable || !strings.Contains(st.Message(), `RouteConfiguration "bad": invalid`) {
		t.Errorf("%v; want UNAVAILABLE with the reason", st)
	} else if strings.Contains(st.Message(), w.plane.Addr()) || !strings.HasPrefix(st.Message(), "[xDS node id: web-1]: ") {
		t.Errorf("%v; want the ID of the node, and nothing of the control plane", st)
	}
	w.publishRoutes("bad", allHosts)
	w.eventually("calls succeed", func() bool { return s.call(c).Code() == codes.OK })
	before := len(w.plane.Rejections())
	w.publishRoutes("bad", `virtual_hosts { domains: "*" routes {} }`) // the good version stays
	w.eventually("another rejection", func() bool { return len(w.plane.Rejections()) > before })
	if st := s.call(c); st.Code() != codes.OK {
		t.Errorf("%v; want OK, by the previous good version", st)
	}
	if n := len(s.events); n > 0 {
		t.Errorf("%d events; want none", n)
	}
}

func TestAddressOfTheListenerMustMatch(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	text := s.listener(inline(anyRoute))
	w.publishListener(strings.Replace(text, "127.0.0.1\" port", "127.0.0.9\" port", 1))
	e := s.await()
	if e.mode != NotServing || !strings.Contains(e.err.Error(), `"127.0.0.9:`) || !strings.Contains(e.err.Error(), s.addr) {
		t.Errorf("%v: %v; want both addresses", e.mode, e.err)
	}
	if !s.touch() {
		t.Error("a connection got bytes")
	}
	if r := w.plane.Rejections(); len(r) > 0 {
		t.Errorf("rejected %q; it is valid", r)
	}
	w.publishListener(strings.Replace(text, "port_value: "+portOf(s.addr), "port_value: 0", 1)) // any
	s.awaitServing()
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
	w.publishListener(strings.Replace(text, "127.0.0.1\" port", "127.0.0.9\" port", 1))
	if e := s.await(); e.mode != NotServing {
		t.Error("it serves at an address that is not the Listener's")
	}
}

// The server rejects a Listener that cannot be its own without waiting for its routes, which may
// never arrive. It does so at the start and while it serves.
func TestListenerOfOthersIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	own := s.listener(inline(anyRoute))
	other := strings.Replace(s.listener(rds("never")), "127.0.0.1\" port", "127.0.0.9\" port", 1)
	ofClients := fmt.Sprintf(`name: %q api_listener { api_listener { %s { %s %s } } }`, s.name, managerAny, rds("never"), routerFilter)
	for _, c := range []struct{ listener, want string }{{other, `"127.0.0.9:`}, {ofClients, "listener of clients"}} {
		w.publishListener(c.listener)
		if e := s.await(); e.mode != NotServing || !strings.Contains(e.err.Error(), c.want) || !strings.Contains(e.err.Error(), s.name) {
			t.Errorf("%v: %v; want not serving, %s", e.mode, e.err, c.want)
		}
		w.publishListener(own)
		s.awaitServing()
	}
	for _, r := range w.plane.Requests() {
		if strings.HasSuffix(r.GetTypeUrl(), routeMessage) {
			t.Errorf("routes %q were asked for", r.GetResourceNames())
		}
	}
}

// net.Listen listens on [::] for 0.0.0.0, unless the network is tcp4. The server then subscribes to
// the Listener of [::]. It rejects one for 0.0.0.0 unless an option allows it.
func TestAnyAddress(t *testing.T) {
	for _, c := range []struct {
		network, asksFor, listener string
		other                      bool
		serves                     bool
	}{
		{"tcp", "[::]", "0.0.0.0", false, false},
		{"tcp", "[::]", "::", false, true},
		{"tcp", "[::]", "0.0.0.0", true, true},
		{"tcp4", "0.0.0.0", "0.0.0.0", false, true},
		{"tcp4", "0.0.0.0", "::", false, false},
		{"tcp4", "0.0.0.0", "::", true, true},
	} {
		t.Run(fmt.Sprintf("%s, Listener for %s, OtherAnyAddress %v", c.network, c.listener, c.other), func(t *testing.T) {
			w := newWorld(t)
			lis, err := (&net.ListenConfig{}).Listen(w.ctx, c.network, "0.0.0.0:0")
			if err != nil {
				t.Fatal(err)
			}
			s := w.serveOn(lis, func(s *ServerConfig) { s.OtherAnyAddress = c.other })
			port := portOf(s.addr)
			s.name = "server/" + c.asksFor + ":" + port
			w.publishListener(strings.Replace(s.listener(inline(anyRoute)), "127.0.0.1", c.listener, 1))
			e := s.await()
			if (e.mode == Serving) != c.serves {
				t.Fatalf("%v: %v; want serving: %v", e.mode, e.err, c.serves)
			}
			s.addr = "127.0.0.1:" + port
			if c.serves {
				if st := s.call(s.dial()); st.Code() != codes.OK {
					t.Errorf("%v; want OK", st)
				}
				return
			}
			for _, part := range []string{c.asksFor + ":" + port, net.JoinHostPort(c.listener, port)} {
				if !strings.Contains(e.err.Error(), part) {
					t.Errorf("%v; want %q in it", e.err, part)
				}
			}
			if hint := `"tcp4"`; strings.Contains(e.err.Error(), hint) != (c.network == "tcp") {
				t.Errorf("%v; want %s in it where the network was tcp", e.err, hint)
			}
		})
	}
}

// After a rejected Listener, the server has none, or keeps the one it had.
func TestRejectedListener(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	good := s.listener(inline(anyRoute))
	bad := good + ` use_original_dst { value: true }`
	w.publishListener(bad)
	if e := s.await(); e.mode != NotServing || !strings.Contains(e.err.Error(), "use_original_dst") {
		t.Errorf("%v: %v; want the reason", e.mode, e.err)
	}
	w.publishListener(good)
	s.awaitServing()
	// The control plane may have sent the invalid Listener any number of times before the valid
	// one. It sends nothing new before the response is answered, so all of these are counted by
	// now.
	before := len(w.plane.Rejections())
	w.publishListener(bad)
	w.eventually("another rejection", func() bool { return len(w.plane.Rejections()) > before })
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK, by the previous good version", st)
	}
}

// A deleted Listener stays in use, unless the server fails on data errors (A88).
func TestDeletedListener(t *testing.T) {
	t.Run("stays", func(t *testing.T) {
		w := newWorld(t)
		s := w.serve()
		w.publishListener(s.listener(inline(anyRoute)))
		s.awaitServing()
		if err := w.plane.Delete(listenerMessage, s.name); err != nil {
			t.Fatal(err)
		}
		// The client has handled a later response.
		other := w.serve()
		w.publishListener(other.listener(inline(anyRoute)))
		other.awaitServing()
		if st := s.call(s.dial()); st.Code() != codes.OK || len(s.events) > 0 {
			t.Errorf("%v; want OK", st)
		}
	})
	t.Run("ends serving", func(t *testing.T) {
		w := newWorld(t, environment.WithClient(func(o *client.Options) { o.FailOnDataErrors = true }))
		s := w.serve()
		w.publishListener(s.listener(inline(anyRoute)))
		s.awaitServing()
		c := s.dial()
		ss := s.openStream(c)
		if err := w.plane.Delete(listenerMessage, s.name); err != nil {
			t.Fatal(err)
		}
		if e := s.await(); e.mode != NotServing || !strings.Contains(e.err.Error(), "removed") {
			t.Errorf("%v: %v; want that it was removed", e.mode, e.err)
		}
		if !s.touch() {
			t.Error("a connection got bytes")
		}
		ping(t, ss) // is in flight and does not fail
		// The server drains the old connection after its report.
		w.eventually("new calls fail", func() bool { return s.call(c).Code() == codes.Unavailable })
		finish(t, ss)
		w.publishListener(s.listener(inline(anyRoute)))
		s.awaitServing()
		w.eventually("calls succeed", func() bool { return s.call(c).Code() == codes.OK })
	})
}

// A88: the same for routes.
func TestDeletedRoutes(t *testing.T) {
	w := newWorld(t, environment.WithClient(func(o *client.Options) { o.FailOnDataErrors = true }))
	s := w.serve()
	w.publishListener(s.listener(rds("gone")))
	w.publishRoutes("gone", allHosts)
	s.awaitServing()
	c := s.dial()
	ss := s.openStream(c)
	w.publishRoutes("gone", `virtual_hosts { domains: "*" routes {} }`)
	w.eventually("calls fail", func() bool { return s.call(c).Code() == codes.Unavailable })
	ping(t, ss)
	finish(t, ss)
	if n := len(s.events); n > 0 {
		t.Errorf("%d events; the server serves", n)
	}
}

// A server continues to serve while control planes disconnect and reconnect.
func TestServerOutlivesItsControlPlane(t *testing.T) {
	var log syncBuffer
	w := newWorld(t, xdsforge.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	s := w.serve()
	w.publishListener(s.listener(rds("routes")))
	w.publishRoutes("routes", allHosts)
	s.awaitServing()
	w.plane.Stop()
	w.eventually("the outage is known", func() bool { return log.count("control plane unreachable") > 0 })
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
	if err := w.plane.Restart(); err != nil {
		t.Fatal(err)
	}
	w.publishRoutes("routes", `virtual_hosts { domains: "nobody" }`)
	c := s.dial()
	w.eventually("the new routes are in use", func() bool { return s.call(c).Code() == codes.Unavailable })
	if n := len(s.events); n > 0 {
		t.Errorf("%d events; it served all the time", n)
	}
}

// syncBuffer collects the logs of several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *syncBuffer) count(parts ...string) int {
	n := 0
	for line := range strings.Lines(b.String()) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			n++
		}
	}
	return n
}

// The server logs its start, errors and their end, with and without a callback, and nothing else.
func TestModesAreLogged(t *testing.T) {
	var out syncBuffer
	w := newWorld(t)
	logger := slog.New(slog.NewTextHandler(&out, nil))
	s := w.serveWith(func(c *ServerConfig) { c.ModeChanged, c.Logger = nil, logger })
	reported := w.serveWith(func(c *ServerConfig) { c.Logger = logger })
	w.publishListener(reported.listener(inline(anyRoute)))
	reported.awaitServing()
	if out.count("level=INFO", `msg="xDS server is serving"`, reported.addr) != 1 {
		t.Errorf("logged\n%s; want a line about the start", &out)
	}
	w.publishListener(s.listener(inline(anyRoute)) + ` use_original_dst { value: true }`)
	w.eventually("an error", func() bool { return out.count("not serving", s.addr) == 1 })
	w.publishListener(s.listener(inline(anyRoute)))
	w.eventually("a resumption", func() bool { return out.count("level=INFO", "serving again", s.addr) == 1 })
	if out.count(reported.addr) != 1 || out.count("") != 3 {
		t.Errorf("logged\n%s; want three lines", &out)
	}
}

// A36's configuration error logging.
func TestConfigurationErrorsAreLogged(t *testing.T) {
	var out syncBuffer
	w := newWorld(t)
	s := w.serveWith(func(c *ServerConfig) { c.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
	forward := `virtual_hosts { domains: "%" routes { match { prefix: "/" } route { cluster: "c" } } }`
	w.publishListener(s.listener(rds("routes")))
	w.publishRoutes("routes", `virtual_hosts { domains: "*" routes {} }`)
	s.awaitServing()
	if out.count("level=WARN", "configuration makes calls fail", "routes", "invalid") != 1 {
		t.Errorf("broken routes: logged\n%s", &out)
	}
	w.publishRoutes("routes", strings.Replace(forward, "%", "a", 1))
	w.eventually("a warning", func() bool {
		return out.count("level=WARN", "configuration makes calls fail", "non_forwarding_action") == 1
	})
	w.publishRoutes("routes", strings.Replace(forward, "%", "b", 1))
	w.eventually("a warning at each update", func() bool {
		return out.count("level=WARN", "configuration makes calls fail", "non_forwarding_action") == 2
	})
	w.publishRoutes("routes", allHosts)
	w.eventually("one warning that it is over", func() bool { return out.count("level=WARN", "no longer makes calls fail") == 1 })
	c := s.dial()
	w.publishRoutes("routes", `virtual_hosts { domains: "nobody" }`)
	w.eventually("the next update", func() bool { return s.call(c).Code() == codes.Unavailable })
	if out.count("") != 5 {
		t.Errorf("logged\n%s; want five lines", &out)
	}
}
