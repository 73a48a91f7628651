package httpxds_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/httpxds"
)

// TestHashPolicies expects requests with equal hashes to go to one endpoint of a ring, and others to spread.
func TestHashPolicies(t *testing.T) {
	w := newWorld(t)
	w.cluster("ring", "lb_policy: RING_HASH", serve(t, named("a")), serve(t, named("b")), serve(t, named("c")))
	w.routes(`
		routes { match { prefix: "/header" } route { cluster: "ring" hash_policy { header { header_name: "x-user" } } } }
		routes { match { prefix: "/cookie" } route { cluster: "ring" hash_policy { cookie { name: "user" } } } }
		routes { match { prefix: "/query" } route { cluster: "ring" hash_policy { query_parameter { name: "user" } } } }
		routes { match { prefix: "/source" } route { cluster: "ring" hash_policy { connection_properties { source_ip: true } } } }`)
	rt := w.transport()
	for _, path := range []string{"/header", "/cookie", "/query", "/source"} {
		owners := make(map[string]bool)
		for i := range 30 {
			user := fmt.Sprintf("10.0.0.%d", i)
			first := ""
			for range 3 {
				body, err := get(t, rt, "http://svc"+path+"?user="+user, func(r *http.Request) {
					r.Header.Set("X-User", user)
					r.AddCookie(&http.Cookie{Name: "user", Value: user})
					r.RemoteAddr = user + ":1234"
				})
				if err != nil {
					t.Fatal(err)
				}
				if first == "" {
					first = body
				}
				if body != first {
					t.Errorf("%s: user %s is sent to %q and to %q", path, user, first, body)
				}
			}
			owners[first] = true
		}
		if len(owners) < 2 {
			t.Errorf("%s: all users are sent to %v, want several endpoints", path, owners)
		}
	}
}

// TestBreaker expects requests beyond the limit of a cluster to fail with Overflow, and others with Dropped by the share that
// the endpoints configure.
func TestBreaker(t *testing.T) {
	w := newWorld(t)
	entered, release := make(chan struct{}), make(chan struct{})
	addr := serve(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	w.cluster("few", `circuit_breakers { thresholds { max_requests { value: 1 } } }`, addr)
	w.cluster("dropped", "", addr)
	w.set(new(endpointv3.ClusterLoadAssignment), `cluster_name: "dropped" policy { drop_overloads { category: "all" drop_percentage { numerator: 100 } } }
		endpoints { locality { region: "r" } load_balancing_weight { value: 1 } lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %s } } } } }`, portOf(addr))
	w.routes(`routes { match { prefix: "/few" } route { cluster: "few" retry_policy { retry_on: "5xx,reset" } } }
		routes { match { prefix: "/dropped" } route { cluster: "dropped" } }`)
	rt := w.transport()
	first := make(chan error)
	go func() {
		_, err := get(t, rt, "http://svc/few")
		first <- err
	}()
	<-entered
	for path, want := range map[string]httpxds.Reason{"/few": httpxds.Overflow, "/dropped": httpxds.Dropped} {
		var e *httpxds.Error
		if _, err := get(t, rt, "http://svc"+path); !errors.As(err, &e) || e.Reason != want {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func portOf(addr string) string { return addr[len("127.0.0.1:"):] }

// TestDiscovery expects clusters that have their endpoints themselves, as addresses or as DNS names, and their protocol.
func TestDiscovery(t *testing.T) {
	w := newWorld(t)
	port := portOf(serve(t, named("a")))
	const endpoints = `load_assignment { cluster_name: "x" endpoints { lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } } }`
	w.set(new(clusterv3.Cluster), `name: "static" type: STATIC `+endpoints+` connect_timeout { seconds: 9 }
		typed_extension_protocol_options { key: "envoy.extensions.upstreams.http.v3.HttpProtocolOptions" value { type_url: "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions" value: "\032\002\022\000" } }`, "127.0.0.1", port)
	w.set(new(clusterv3.Cluster), `name: "dns" type: STRICT_DNS `+endpoints, "localhost", port)
	w.routes(`routes { match { prefix: "/static" } route { cluster: "static" } } %s`, to("dns"))
	rt := w.transport()
	if body, err := get(t, rt, "http://svc/static"); body != "a HTTP/2.0" {
		t.Errorf("a STATIC cluster of HTTP/2: %q, %v", body, err)
	}
	if body, err := get(t, rt, "http://svc/dns"); body != "a HTTP/1.1" {
		t.Errorf("a STRICT_DNS cluster: %q, %v", body, err)
	}
}

// TestInsecure expects a request with the scheme https to fail if its cluster has no TLS.
func TestInsecure(t *testing.T) {
	rt := single(t, serve(t, named("a")), "")
	var e *httpxds.Error
	if body, err := get(t, rt, "https://svc/"); !errors.As(err, &e) || e.Reason != httpxds.Connect {
		t.Errorf("%q, %v; want an error of the connection", body, err)
	}
	if body, err := get(t, rt, "http://svc/"); body != "a HTTP/1.1" {
		t.Errorf("the scheme http after that: %q, %v", body, err)
	}
}

// TestReverseProxy expects the reverse proxy of the guide to work.
func TestReverseProxy(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, mirror))
	w.routes("%s", to("c"))
	front, err := newReverseProxy("xds:///svc", httpxds.WithEnv(w.env))
	if err != nil {
		t.Fatal(err)
	}
	defer front.Transport.(*httpxds.Transport).Close()
	s := httptest.NewServer(front)
	defer s.Close()
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, s.URL+"/a?b", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "shop.example"
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "GET shop.example/a?b" {
		t.Errorf("%q, %v", body, err)
	}
}

// newReverseProxy returns a reverse proxy in front of a target.
func newReverseProxy(target string, opts ...httpxds.Option) (*httputil.ReverseProxy, error) {
	transport, err := httpxds.NewTransport(target, append(opts, httpxds.WithGatewayResponses())...)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host
		r.Out.RemoteAddr = r.In.RemoteAddr // for hash policies
		r.SetXForwarded()
		r.Out.Host = r.In.Host
	}}, nil
}

// TestClusterHeader expects a header to choose among the clusters that the program allows.
func TestClusterHeader(t *testing.T) {
	w := newWorld(t)
	w.cluster("a", "", serve(t, named("a")))
	w.cluster("secret", "", serve(t, named("secret")))
	w.routes(`routes { match { prefix: "" } route { cluster_header: "X-Cluster" } }`)
	choose := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Cluster", name) }
	}
	rt := w.transport(httpxds.WithHeaderClusters("a"))
	until(t, func() (bool, string) { // the configuration does not wait for the cluster
		body, err := get(t, rt, "http://svc/", choose("a"))
		return body == "a HTTP/1.1", fmt.Sprint(body, err)
	})
	var e *httpxds.Error
	if body, err := get(t, rt, "http://svc/", choose("secret")); !errors.As(err, &e) || e.Reason != httpxds.NoRoute {
		t.Errorf("%q, %v for a cluster that the program does not allow", body, err)
	}
	if body, err := get(t, w.transport(), "http://svc/", choose("a")); !errors.As(err, &e) || e.Reason != httpxds.NoRoute {
		t.Errorf("%q, %v without an allowed cluster", body, err)
	}
}

// closing records whether it was closed.
type closing struct {
	io.Reader
	closed chan struct{}
}

func (c closing) Close() error {
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	return nil
}

// TestBodyIsClosed expects the body of a request to be closed, also if it was not read or if the request was not sent.
func TestBodyIsClosed(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, named("a")))
	w.cluster("empty", "")
	w.routes(`routes { match { prefix: "/sent" } route { cluster: "c" } } routes { match { prefix: "/empty" } route { cluster: "empty" } }
		routes { match { prefix: "/direct" } direct_response { status: 200 } } routes { match { prefix: "/header" } route { cluster_header: "x" } }
		routes { match { prefix: "/unsupported" } non_forwarding_action {} }`)
	rt, ended := w.transport(httpxds.WithBase(&http.Transport{ExpectContinueTimeout: time.Minute})), w.transport()
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	hosts, err := httpxds.NewHosts(httpxds.WithEnv(w.env), httpxds.WithTargets(func(u *url.URL) (string, bool) { return "invalid\x00", u.Path == "/invalid" }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hosts.Close() })
	for name, test := range map[string]struct {
		rt   http.RoundTripper
		path string
		edit func(*http.Request)
		fail bool
	}{
		"sent":                  {rt: rt, path: "/sent"},
		"answered unread":       {rt: rt, path: "/sent", edit: func(r *http.Request) { r.Header.Set("Expect", "100-continue") }},
		"direct response":       {rt: rt, path: "/direct"},
		"no endpoint":           {rt: rt, path: "/empty", fail: true},
		"no route":              {rt: rt, path: "/other", fail: true},
		"no cluster":            {rt: rt, path: "/header", fail: true},
		"an unsupported action": {rt: rt, path: "/unsupported", fail: true},
		"a closed Transport":    {rt: ended, path: "/sent", fail: true},
		"no target":             {rt: hosts, path: "/sent", fail: true},
		"an invalid target":     {rt: hosts, path: "/invalid", fail: true},
	} {
		for _, size := range []int{0, 1, 1 << 20} {
			body := closing{strings.NewReader(strings.Repeat("x", size)), make(chan struct{})}
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc"+test.path, body)
			if err != nil {
				t.Fatal(err)
			}
			if test.edit != nil {
				test.edit(r)
			}
			resp, err := test.rt.RoundTrip(r)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if (err != nil) != test.fail {
				t.Errorf("%s: the error is %v, want one = %t", name, err, test.fail)
			}
			select {
			case <-body.closed:
			case <-soon(t).Done():
				t.Errorf("%s: a body of %d bytes is not closed", name, size)
			}
		}
	}
}
