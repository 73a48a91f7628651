package httpxds_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random/v3" // for prototext

	"github.com/xdsforge/xdsforge/httpxds"
)

// With WithRequestHosts, the Host of a request chooses its virtual host, with the filters of that virtual host.
func TestRequestHosts(t *testing.T) {
	w := newWorld(t)
	w.cluster("a", "", serve(t, named("a")))
	w.cluster("b", "", serve(t, named("b")))
	w.filtered(filter("header_mutation.v3.HeaderMutation", adding("list")), `
		virtual_hosts { name: "a" domains: "a.example" routes { match { prefix: "" } route { cluster: "a" } } %s }
		virtual_hosts { name: "b" domains: "*.example" routes { match { prefix: "/b" } route { cluster: "b" } } %s }`,
		override("header_mutation.v3.HeaderMutationPerRoute", adding("one")), override("header_mutation.v3.HeaderMutationPerRoute", adding("two")))
	rt := w.transport(httpxds.WithRequestHosts())
	for _, tt := range []struct{ url, header, body string }{
		{"http://a.example/", "list,one", "a HTTP/1.1"},
		{"http://other.example/b", "list,two", "b HTTP/1.1"},
		{"http://other.example/", "", `no route of virtual host "b"`},
		{"http://svc/", "", `no virtual host is for "svc"`},
	} {
		if header, body := headerOf(t, rt, tt.url, "X-A"); header != tt.header || !strings.Contains(body, tt.body) {
			t.Errorf("%s: %q %q; want %q %q", tt.url, header, body, tt.header, tt.body)
		}
	}
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc/b", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "x.example"
	resp, err := rt.RoundTrip(r)
	if err != nil || resp.Header.Get("X-A") != "list" {
		t.Fatalf("the Host of a request: %v, %v; want the virtual host b", resp, err)
	}
	_ = resp.Body.Close()
	var e *httpxds.Error
	if _, err := get(t, w.transport(), "http://a.example/"); !errors.As(err, &e) || e.Reason != httpxds.NoRoute {
		t.Errorf("without the option: %v; want that no virtual host is for the target", err)
	}
	if resp, err := get(t, w.transport(httpxds.WithRequestHosts(), httpxds.WithGatewayResponses()), "http://svc/"); err != nil || resp != "" {
		t.Errorf("with gateway responses: %q, %v; want the status 404", resp, err)
	}
}

// A hash policy generates a cookie for a request without one. The requests that bring it go to the same endpoint.
func TestGeneratedCookies(t *testing.T) {
	w := newWorld(t)
	w.cluster("ring", "lb_policy: RING_HASH", serve(t, named("a")), serve(t, named("b")), serve(t, named("c")))
	w.routes(`
		routes { match { prefix: "/none" } route { cluster: "ring" hash_policy { cookie { name: "user" } } } }
		routes { match { prefix: "/session" } route { cluster: "ring" hash_policy { cookie { name: "user" ttl {} } } } }
		routes { match { prefix: "" } route { cluster: "ring" hash_policy { cookie { name: "user" ttl { seconds: 60 nanos: 1 } path: "/p" attributes { name: "SameSite" value: "Lax" } attributes { name: "Secure" } } } } }`)
	rt := w.transport()
	owners := make(map[string]bool)
	for range 30 {
		header, first := headerOf(t, rt, "http://svc/", "Set-Cookie")
		c, err := http.ParseSetCookie(header)
		if err != nil || c.Name != "user" || len(c.Value) != 16 || c.MaxAge != 61 || c.Path != "/p" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode {
			t.Fatalf("the cookie is %q, %v", header, err)
		}
		owners[first] = true
		for range 3 {
			body, err := get(t, rt, "http://svc/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value}) })
			if err != nil || body != first {
				t.Errorf("a request with the cookie: %q, %v; want %q", body, err, first)
			}
		}
	}
	if len(owners) < 2 {
		t.Errorf("all generated cookies lead to %v; want several endpoints", owners)
	}
	if header, _ := headerOf(t, rt, "http://svc/session", "Set-Cookie"); !strings.HasPrefix(header, "user=") || strings.Contains(header, "Max-Age") {
		t.Errorf("the cookie of a session is %q; want one without Max-Age", header)
	}
	if header, _ := headerOf(t, rt, "http://svc/none", "Set-Cookie"); header != "" {
		t.Errorf("a policy without a TTL generates %q", header)
	}
}

// A generated cookie is added to the cookies of the endpoint.
func TestGeneratedCookieBesideOthers(t *testing.T) {
	rt := single(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Set-Cookie", "own=1") }), `hash_policy { cookie { name: "user" ttl {} } }`)
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Values("Set-Cookie"); len(got) != 2 || got[0] != "own=1" || !strings.HasPrefix(got[1], "user=") {
		t.Errorf("the cookies are %q; want that of the endpoint and a generated one", got)
	}
}

// The policy random picks each endpoint with the same probability, independent of the request before.
func TestRandom(t *testing.T) {
	w := newWorld(t)
	addresses := []string{serve(t, named("a")), serve(t, named("b"))}
	w.cluster("old", "lb_policy: RANDOM", addresses...)
	w.cluster("new", `load_balancing_policy { policies { typed_extension_config { name: "r"
		typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.random.v3.Random] {} } } } }`, addresses...)
	w.routes(`routes { match { prefix: "/new" } route { cluster: "new" } } %s`, to("old"))
	rt := w.transport()
	for _, path := range []string{"/", "/new"} {
		seen := make(map[string]bool)
		until(t, func() (bool, string) { // both endpoints are connected
			body, err := get(t, rt, "http://svc"+path)
			seen[body] = true
			return len(seen) == 2, fmt.Sprint(body, err)
		})
		const n = 400
		firsts, repeats, last := 0, 0, ""
		for range n {
			body, err := get(t, rt, "http://svc"+path)
			if err != nil {
				t.Fatal(err)
			}
			if body == "a HTTP/1.1" {
				firsts++
			}
			if body == last {
				repeats++
			}
			last = body
		}
		most := 6 * math.Sqrt(n) / 2 // six standard deviations
		if math.Abs(float64(firsts)-n/2) > most || math.Abs(float64(repeats)-n/2) > most {
			t.Errorf("%s: of %d requests %d go to endpoint a, and %d to that of the request before; want about half of each", path, n, firsts, repeats)
		}
	}
}

// TestHostsOfWrongRequests expects requests that the program made wrongly to leave the limit of targets alone.
func TestHostsOfWrongRequests(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, named("endpoint")))
	w.routes("%s", to("c"))
	h, err := httpxds.NewHosts(httpxds.WithEnv(w.env))
	check(t, err)
	t.Cleanup(func() { _ = h.Close() })
	for i := range 1000 {
		_, err := get(t, h, fmt.Sprintf("http://host-%d/", i), func(r *http.Request) { r.Method = "a b" })
		if e := (*httpxds.Error)(nil); !errors.As(err, &e) || e.Reason != httpxds.Invalid {
			t.Fatalf("%v; want an invalid request", err)
		}
	}
	if body, err := get(t, h, "http://svc/"); body != "endpoint HTTP/1.1" || err != nil {
		t.Errorf("a valid request: %q, %v; want the response of the endpoint", body, err)
	}
}
