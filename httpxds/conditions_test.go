package httpxds_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// TestClientConditions expects the routes of clients to match only requests that meet all their conditions.
func TestClientConditions(t *testing.T) {
	inner, outer := serve(t, named("inner")), serve(t, named("outer"))
	certificate := func(verified bool) func(*http.Request) {
		return func(r *http.Request) { // as a reverse proxy passes it on
			r.TLS = &tls.ConnectionState{PeerCertificates: make([]*x509.Certificate, 1)}
			if verified {
				r.TLS.VerifiedChains = make([][]*x509.Certificate, 1)
			}
		}
	}
	const cookie = `prefix: "/" cookies { name: "c" string_match { exact: "1" } }`
	for _, tt := range []struct {
		match, path string
		change      func(*http.Request)
		want        string
	}{
		{cookie, "/", header("Cookie", "c=1"), "inner"},
		{cookie, "/", header("Cookie", "c=2"), "outer"},
		{`prefix: "/" grpc {}`, "/", header("Content-Type", "application/grpc"), "inner"},
		{`prefix: "/" grpc {}`, "/", header("Content-Type", "application/json"), "outer"},
		{`path_separated_prefix: "/a"`, "/a/b", header("X", "y"), "inner"},
		{`path_separated_prefix: "/a"`, "/ab", header("X", "y"), "outer"},
		{`prefix: "/" tls_context { presented { value: true } }`, "/", header("X", "y"), "outer"},
		{`prefix: "/" tls_context { presented { value: true } }`, "/", certificate(false), "inner"},
		{`prefix: "/" tls_context { validated { value: true } }`, "/", certificate(false), "outer"},
		{`prefix: "/" tls_context { validated { value: true } }`, "/", certificate(true), "inner"},
		{`prefix: "/" tls_context { presented {} }`, "/", header("X", "y"), "inner"},
	} {
		w := newWorld(t)
		w.routes(`routes { match { %s } route { cluster: "inner" } } %s`, tt.match, to("outer"))
		w.cluster("inner", "", inner)
		w.cluster("outer", "", outer)
		if got, err := get(t, w.transport(), "http://svc"+tt.path, tt.change); err != nil || !strings.HasPrefix(got, tt.want+" ") {
			t.Errorf("%s: %s gets %q, %v; want %s", tt.match, tt.path, got, err, tt.want)
		}
	}
}

// A prefix that ends at a slash is replaced as other prefixes are.
func TestSeparatedPrefixRewrite(t *testing.T) {
	w := newWorld(t)
	w.routes(`routes { match { path_separated_prefix: "/a" } route { cluster: "c" prefix_rewrite: "/b" } }`)
	w.cluster("c", "", serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) }))
	if got, err := get(t, w.transport(), "http://svc/a/x"); err != nil || got != "/b/x" {
		t.Errorf("the endpoint gets %q, %v; want /b/x", got, err)
	}
}

// A client redirects its requests to a virtual host that requires TLS, unless they have an https URL. Its program is internal.
func TestClientRequireTLS(t *testing.T) {
	w := newWorld(t)
	w.hosts(`virtual_hosts { name: "all" domains: "svc" require_tls: ALL %[1]s } virtual_hosts { name: "external" domains: "external" require_tls: EXTERNAL_ONLY %[1]s }`, to("c"))
	w.cluster("c", "", serve(t, named("endpoint")))
	rt := w.transport(httpxds.WithRequestHosts())
	r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/a%20b?c=%2F", strings.NewReader("body"))
	check(t, err)
	resp, err := rt.RoundTrip(r)
	check(t, err)
	defer resp.Body.Close()
	if l := resp.Header.Get("Location"); resp.StatusCode != http.StatusMovedPermanently || l != "https://svc/a%20b?c=%2F" {
		t.Errorf("the response is %d to %q; want 301 to https://svc/a%%20b?c=%%2F", resp.StatusCode, l)
	}
	if _, err := get(t, rt, "https://svc/"); err == nil || !strings.Contains(err.Error(), "did not configure TLS") {
		t.Errorf("a request with an https URL: %v; want that the cluster has no TLS", err)
	}
	if got, err := get(t, rt, "http://external/"); err != nil || got != "endpoint HTTP/1.1" {
		t.Errorf("a request that need not use TLS gets %q, %v", got, err)
	}
}

// The overrides of a RouteConfiguration apply to the routes of clients, except where a virtual host or a route has its own.
func TestClientOverridesOfRouteConfigurations(t *testing.T) {
	w := newWorld(t)
	abort := func(status string) string {
		return override("fault.v3.HTTPFault", `abort { http_status: `+status+` percentage { numerator: 100 } }`)
	}
	w.filtered(filter("fault.v3.HTTPFault", ""), `%s virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "/own" } route { cluster: "c" } %s } %s }`, abort("418"), abort("429"), to("c"))
	w.cluster("c", "", serve(t, named("endpoint")))
	rt := w.transport()
	for path, want := range map[string]int{"/": 418, "/own": 429} {
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc"+path, http.NoBody)
		check(t, err)
		resp, err := rt.RoundTrip(r)
		check(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s gets %d; want %d", path, resp.StatusCode, want)
		}
	}
}

// Routes with append_x_forwarded_host tell the endpoint the host before it was rewritten.
func TestAppendForwardedHost(t *testing.T) {
	w := newWorld(t)
	w.routes(`routes { match { prefix: "/plain" } route { cluster: "c" append_x_forwarded_host: true } }
		routes { match { prefix: "/" } route { cluster: "c" append_x_forwarded_host: true host_rewrite_literal: "new" } }`)
	w.cluster("c", "", serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Host + "|" + strings.Join(r.Header["X-Forwarded-Host"], "+")))
	}))
	rt := w.transport()
	for _, tt := range []struct {
		path   string
		change func(*http.Request)
		want   string
	}{
		{"/plain", header("X", "y"), "svc|"},
		{"/", header("X", "y"), "new|svc"},
		{"/", header("X-Forwarded-Host", "first"), "new|first,svc"},
		{"/", header("X-Forwarded-Host", "first, svc"), "new|first, svc"},
	} {
		if got, err := get(t, rt, "http://svc"+tt.path, tt.change); err != nil || got != tt.want {
			t.Errorf("%s: the endpoint gets %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
}

// The port of a request's host does not matter if its RouteConfiguration says so. The settings of the manager remove it.
func TestClientHostSettings(t *testing.T) {
	endpoint := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Host)) })
	for _, tt := range []struct{ manager, config, host, want string }{
		{"", "ignore_port_in_host_matching: true", "svc:8080", "svc:8080"},
		{"strip_any_host_port: true", "", "svc:8080", "svc"},
		{"strip_trailing_host_dot: true", "", "svc.", "svc"},
		{"strip_trailing_host_dot: true", "ignore_port_in_host_matching: true", "svc.:80", "svc:80"},
	} {
		w := newWorld(t)
		w.filtered(tt.manager, `%s virtual_hosts { name: "h" domains: "svc" %s }`, tt.config, to("c"))
		w.cluster("c", "", endpoint)
		if got, err := get(t, w.transport(httpxds.WithRequestHosts()), "http://"+tt.host+"/"); err != nil || got != tt.want {
			t.Errorf("%s %s: the endpoint gets the host %q of %s, %v; want %q", tt.manager, tt.config, got, tt.host, err, tt.want)
		}
	}
}

// A request of a route whose optional plugin is not registered fails. No later route gets it.
func TestRoutesOfUnknownClusters(t *testing.T) {
	const plugins = `cluster_specifier_plugins { extension { name: "p" typed_config { [type.googleapis.com/google.protobuf.StringValue] {} } } is_optional: true }`
	const unknown = ` routes { match { prefix: "/a" } route { cluster_specifier_plugin: "p" } } `
	w := newWorld(t)
	w.hosts(`%s virtual_hosts { name: "h" domains: "svc" %s %s }`, plugins, unknown, to("c"))
	w.cluster("c", "", serve(t, named("endpoint")))
	rt := w.transport()
	if got, err := get(t, rt, "http://svc/"); err != nil || got != "endpoint HTTP/1.1" {
		t.Errorf("another route: %q, %v", got, err)
	}
	if got, err := get(t, rt, "http://svc/a"); err == nil || !strings.Contains(err.Error(), "unsupported route action") {
		t.Errorf("the client gets %q, %v; want an error of the route", got, err)
	}
	s := newSite(t, http.HandlerFunc(page), "", nil, httpxds.WithForwarding(http.HandlerFunc(page)))
	s.listen(chain("one", `route_config { name: "r" `+plugins+` virtual_hosts { name: "v" domains: "*" `+unknown+anyRoute+` } }`))
	s.serving("")
	if a := s.get("/a"); a.code != 503 {
		t.Errorf("the server responds with %d; want 503", a.code)
	}
}

// A client behind a server hashes the address of the client that the server has seen, and not that of a proxy before it.
func TestHashOfForwardedClient(t *testing.T) {
	w := newWorld(t)
	w.routes(`routes { match { prefix: "" } route { cluster: "c" hash_policy { connection_properties { source_ip: true } } } }`)
	w.cluster("c", "lb_policy: RING_HASH", serve(t, named("a")), serve(t, named("b")), serve(t, named("c")), serve(t, named("d")))
	rt := w.transport()
	proxy := &httputil.ReverseProxy{Transport: rt, Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "svc" }}
	s := newSite(t, http.HandlerFunc(page), "", nil, httpxds.WithForwarding(proxy))
	s.listen(chain("one", hosts(`routes { match { prefix: "/" } route { cluster: "x" } }`)))
	s.serving("")
	seen := make(map[string]bool)
	for _, addr := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8"} {
		first := s.get("/", header("X-Forwarded-For", addr)).body
		if again := s.get("/", header("X-Forwarded-For", addr)).body; again != first {
			t.Errorf("the client %s gets %q, then %q; want one endpoint", addr, first, again)
		}
		seen[first] = true
	}
	if len(seen) < 2 {
		t.Errorf("eight clients behind a proxy get the endpoint %v; want several", seen)
	}
}
