package httpxds_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/httpxds"
)

// closedWithoutAByte reports whether the server closes a connection at once.
func (s *site) closedWithoutAByte() bool {
	s.Helper()
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr)
	check(s, err)
	defer func() { _ = c.Close() }()
	deadline, _ := s.ctx.Deadline()
	check(s, c.SetReadDeadline(deadline))
	n, err := c.Read(make([]byte, 1))
	return n == 0 && err != nil && !errors.Is(err, context.DeadlineExceeded)
}

// TestServer follows one server through Listeners and routes.
func TestServer(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	if !s.closedWithoutAByte() {
		t.Error("a server without a Listener sends something")
	}
	s.listen(chain("one", `rds { route_config_name: "r" config_source { ads {} } }`))
	s.routes(`virtual_hosts { name: "v" domains: "a.example" ` + anyRoute + ` }
		virtual_hosts { name: "w" domains: "b.example" routes { match { path: "/x" } non_forwarding_action {} } routes { match { prefix: "/" } route { cluster: "c" } } }`)
	s.serving("")
	for _, tt := range []struct {
		host, path string
		want       int
	}{
		{"a.example", "/any", http.StatusOK},
		{"A.EXAMPLE", "/any", http.StatusOK},
		{"b.example", "/x", http.StatusOK},
		{"b.example", "/y", http.StatusServiceUnavailable}, // its route is for clients
		{"c.example", "/", http.StatusNotFound},
	} {
		for _, p := range []protocol{http1, h2c} {
			a, err := s.do(p.client(t), http.MethodGet, tt.path, func(r *http.Request) { r.Host = tt.host })
			if err != nil || a.code != tt.want || a.code == http.StatusOK && a.body != tt.path+" " {
				t.Errorf("GET %s of %s by %s = %d %q, %v; want %d", tt.path, tt.host, p, a.code, a.body, err, tt.want)
			}
		}
	}

	// The same connection gets newer routes.
	c := http1.client(t)
	s.routes(`virtual_hosts { name: "v" domains: "*" routes { match { prefix: "/only" } non_forwarding_action {} } }`)
	s.until("the same connection has the new routes", func() bool {
		a, err := s.do(c, http.MethodGet, "/only")
		check(t, err)
		return a.code == http.StatusOK
	})
	if a := s.get("/other"); a.code != http.StatusNotFound {
		t.Errorf("a request without a route gets %d, want 404", a.code)
	}

	s.describes()
	check(t, s.plane.Delete("envoy.config.listener.v3.Listener", s.name))
	s.serving("removed")
	if !s.closedWithoutAByte() {
		t.Error("a server whose Listener was removed sends something")
	}
}

// describes checks the server's entry in its Env.
func (s *site) describes() {
	s.Helper()
	all := s.env.Servers()
	if len(all) != 1 || len(all[0].Ports) != 1 {
		s.Fatalf("the Env has the servers %v; want one with one port", all)
	}
	p := all[0].Ports[0]
	if p.Mode != dataplane.Serving || p.Listener != s.name || len(p.Generations) != 1 || len(p.Generations[0].FilterChains) != 1 {
		s.Fatalf("the port is %+v", p)
	}
	if f := p.Generations[0].FilterChains[0]; f.Name != "one" || f.Routes != "r" || f.Err != "" || f.Connections == 0 {
		s.Errorf("the filter chain is %+v; want the name one, the routes r and connections", f)
	}
}

// The server itself responds to redirects and direct responses, and changes the headers of routes. Query parameters match.
func TestRouteActions(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Handler", "h")
		_, _ = io.WriteString(w, "handler "+r.Header.Get("X-Request")) // the client reports errors
	})
	s := newSite(t, h, "", nil)
	s.listen(chain("one", `route_config { name: "r" virtual_hosts { name: "v" domains: "*"
		response_headers_to_add { header { key: "x-host" value: "v" } }
		routes { match { prefix: "/old" } redirect { prefix_rewrite: "/new" response_code: PERMANENT_REDIRECT } }
		routes { match { prefix: "/secure" } redirect { https_redirect: true host_redirect: "b.example" strip_query: true } }
		routes { match { path: "/status" } direct_response { status: 418 body { inline_string: "teapot" } } }
		routes { match { prefix: "/" query_parameters { name: "debug" present_match: true } } direct_response { status: 202 } }
		routes { match { prefix: "/" } non_forwarding_action {} response_headers_to_remove: "x-handler"
			request_headers_to_add { header { key: "x-request" value: "%REQ(:METHOD)%" } } } } }`))
	s.serving("")
	for _, tt := range []struct {
		path, body, location string
		code                 int
	}{
		{"/old/a?b=c", "", "http://" + s.addr + "/new/a?b=c", 308},
		{"/secure/a?b=c", "", "https://b.example/secure/a", 301},
		{"/status", "teapot", "", 418},
		{"/x?debug", "", "", 202},
		{"/x?debug2", "handler GET", "", 200},
	} {
		c := http1.client(t)
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		a, err := s.do(c, http.MethodGet, tt.path)
		if err != nil || a.code != tt.code || a.body != tt.body || a.header.Get("Location") != tt.location {
			t.Errorf("%s: %d %q to %q, %v; want %d %q to %q", tt.path, a.code, a.body, a.header.Get("Location"), err, tt.code, tt.body, tt.location)
		}
		if a.header.Get("X-Host") != "v" || a.header.Get("X-Handler") != "" {
			t.Errorf("%s: the headers are %v; want x-host and no x-handler", tt.path, a.header)
		}
	}
}

// lines collects log lines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// TestErrorLog expects the errors of net/http in the logger of the server.
func TestErrorLog(t *testing.T) {
	var log lines
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := newSite(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }), "", nil, httpxds.WithLogger(logger))
	s.listen(chain("a", hosts(anyRoute)))
	s.serving("")
	if a, err := s.do(http1.client(t), http.MethodPost, "/"); err == nil {
		t.Errorf("the handler panics, and the response has the status %d", a.code)
	}
	s.until("the panic is logged", func() bool {
		return log.has(`level=WARN msg="net/http reports an error" error="http: panic serving`) && log.has("boom")
	})
	c, err := new(net.Dialer).DialContext(s.ctx, "tcp", s.addr)
	check(t, err)
	defer c.Close()
	_, err = io.WriteString(c, http2.ClientPreface)
	check(t, err)
	f := http2.NewFramer(c, c)
	check(t, f.WriteSettings())
	check(t, f.WriteData(2, true, nil)) // clients use odd streams
	s.until("the error of a connection, which any client can cause, is logged at Debug", func() bool {
		return log.has(`level=DEBUG msg="a connection of HTTP/2 failed" error="http2: server connection error from `)
	})
}

// TestAbsoluteForm expects matchers of :path to see the path of a request whose target is a URL (RFC 9112 section 3.2.2).
func TestAbsoluteForm(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	s.listen(chain("a", hosts(`routes { match { prefix: "/" headers { name: ":path" string_match { exact: "/a?b" } } } direct_response { status: 418 } }`+anyRoute)))
	s.serving("")
	c, err := new(net.Dialer).DialContext(s.ctx, "tcp", s.addr)
	check(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET http://site/a?b HTTP/1.1\r\nHost: other\r\n\r\n")
	check(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	check(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTeapot {
		t.Errorf("the status is %d; want that of the route for the path", resp.StatusCode)
	}
}

// A handler for forwarding serves the routes of clusters.
func TestForwarding(t *testing.T) {
	forward := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "forwarded") })
	s := newSite(t, http.HandlerFunc(echo), "", nil, httpxds.WithForwarding(forward))
	s.listen(chain("one", hosts(`routes { match { prefix: "/own" } non_forwarding_action {} } routes { match { prefix: "/" } route { cluster: "c" } }`)))
	s.serving("")
	if a := s.get("/other"); a.code != http.StatusOK || a.body != "forwarded" {
		t.Errorf("a request of a cluster gets %d %q; want that of the handler for forwarding", a.code, a.body)
	}
	if a := s.get("/own"); a.body != "/own " {
		t.Errorf("a request of the server itself gets %d %q", a.code, a.body)
	}
}

// A handler for forwarding can read the body of an HTTP/1.1 request after its response has begun.
func TestForwardingInBothDirections(t *testing.T) {
	forward := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for part := make([]byte, 1); ; {
			n, err := r.Body.Read(part)
			if n > 0 {
				_, _ = io.WriteString(w, "read ") // the client reports errors
				_ = http.NewResponseController(w).Flush()
			}
			if err != nil {
				return
			}
		}
	})
	s := newSite(t, http.HandlerFunc(echo), "", nil, httpxds.WithForwarding(forward))
	s.listen(chain("one", hosts(`routes { match { prefix: "/" } route { cluster: "c" } }`)))
	s.serving("")
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr)
	check(t, err)
	defer func() { _ = c.Close() }()
	check(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
	check(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	check(t, err)
	defer func() { _ = resp.Body.Close() }()
	_, err = io.ReadFull(resp.Body, make([]byte, len("read ")))
	check(t, err)
	_, err = io.WriteString(c, "1\r\nb\r\n0\r\n\r\n")
	check(t, err)
	if rest, err := io.ReadAll(resp.Body); string(rest) != "read " || err != nil {
		t.Errorf("after the second part of the request, the response has %q, %v; want another part", rest, err)
	}
}

// NewServer rejects settings that have no effect.
func TestServerOptionsAreChecked(t *testing.T) {
	if _, err := httpxds.NewServer(nil); err == nil || !strings.Contains(err.Error(), "handler of NewServer is nil") {
		t.Errorf("NewServer without a handler: %v", err)
	}
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	for name, template := range map[string]*http.Server{"Addr": {Addr: ":80"}, "Handler": {Handler: http.NotFoundHandler()}} {
		_, err := httpxds.NewServer(http.NotFoundHandler(), httpxds.WithEnv(s.env), httpxds.WithHTTPServer(template))
		if err == nil || !strings.Contains(err.Error(), "http.Server."+name+" of the template is set") {
			t.Errorf("a template with %s: %v", name, err)
		}
	}
	if err := s.Serve(unixListener{}); err == nil || !strings.Contains(err.Error(), "httpxds: ") {
		t.Errorf("Serve of a Unix socket: %v", err)
	}
}

type unixListener struct{ net.Listener }

func (unixListener) Addr() net.Addr { return &net.UnixAddr{Name: "/run/x", Net: "unix"} }
func (unixListener) Close() error   { return nil }
