package httpxds_test

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// Composite filters three deep choose as each level says, for every combination of the levels, on clients and servers. A request
// without a match passes, as in Envoy.
func TestHTTPCompositeThreeDeep(t *testing.T) {
	const levels = 3
	nested := func(filter string) string {
		for level := levels; level > 0; level-- {
			filter = extended(choosing(fmt.Sprint("x-", level), choice{"on", executed("inner", filter)}, choice{"skip", skipped}))
		}
		return ` http_filters { name: "composite" typed_config { ` + filter + ` } }`
	}
	w := newWorld(t)
	w.cluster("c", "", serve(t, named("a")))
	w.filtered(nested(inner("fault.v3.HTTPFault", `abort { http_status: 403 percentage { numerator: 100 } }`)), `virtual_hosts { name: "h" domains: "svc" %s }`, to("c"))
	client := w.transport()
	s := newSite(t, named("a"), "", nil)
	s.listen(chain("web", `rds { route_config_name: "r" config_source { ads {} } }`+
		nested(inner("rbac.v3.RBAC", `rules { action: DENY policies { key: "all" value { permissions { any: true } principals { any: true } } } }`))))
	s.routes(`virtual_hosts { name: "v" domains: "*" ` + anyRoute + ` }`)
	s.serving("")
	values := []string{"on", "skip", ""}
	for i := range 27 {
		chosen := [levels]string{values[i/9], values[i/3%3], values[i%3]}
		want := http.StatusOK
		if chosen == [levels]string{"on", "on", "on"} {
			want = http.StatusForbidden
		}
		for side, rt := range map[string]http.RoundTripper{"client": client, "server": http1.client(t).Transport} {
			url := "http://svc/"
			if side == "server" {
				url = "http://" + s.addr + "/"
			}
			r, err := http.NewRequestWithContext(soon(t), http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			for level, v := range chosen {
				if v != "" {
					r.Header.Set(fmt.Sprint("X-", level+1), v)
				}
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s, levels %q: %d; want %d", side, chosen, resp.StatusCode, want)
			}
		}
	}
}

// Fractions of routes hold for requests, within six standard deviations.
func TestFractionsOfRequests(t *testing.T) {
	w := newWorld(t)
	w.cluster("tenth", "", serve(t, named("tenth")))
	w.cluster("rest", "", serve(t, named("rest")))
	w.routes(`routes { match { prefix: "" runtime_fraction { default_value { numerator: 1000 denominator: TEN_THOUSAND } } } route { cluster: "tenth" } } %s`, to("rest"))
	rt := w.transport()
	const workers, each = 4, 2500
	var tenth atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				body, err := get(t, rt, "http://svc/")
				switch {
				case strings.HasPrefix(body, "tenth "):
					tenth.Add(1)
				case !strings.HasPrefix(body, "rest "):
					t.Errorf("%q, %v", body, err)
				}
			}
		})
	}
	all.Wait()
	const share = 0.1
	if n := float64(tenth.Load()); math.Abs(n-share*workers*each) > 6*math.Sqrt(share*(1-share)*workers*each) {
		t.Errorf("%v of %d requests go to the first cluster; want about %v", n, workers*each, share*workers*each)
	}
	t.Logf("%d of %d requests go to the first cluster", tenth.Load(), workers*each)
}

// A unix socket is no endpoint. A ClusterLoadAssignment with one is rejected, and does not replace an earlier one.
func TestUnixSocketIsNoEndpoint(t *testing.T) {
	w := newWorld(t)
	good := serve(t, named("good"))
	path := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	unix := &http.Server{Handler: named("unix")}
	go func() { _ = unix.Serve(l) }()
	t.Cleanup(func() { _ = unix.Close() })
	w.cluster("c", "", good)
	w.routes("%s", to("c"))
	rt := w.transport()
	if body, err := get(t, rt, "http://svc/"); err != nil || body != "good HTTP/1.1" {
		t.Fatalf("%q, %v", body, err)
	}
	w.set(new(endpointv3.ClusterLoadAssignment), `cluster_name: "c" endpoints { locality { region: "r" } load_balancing_weight { value: 1 } lb_endpoints { endpoint { address { pipe { path: %q } } } } }`, path)
	w.plane.WantRejected(endpoint.Type(), "lb_endpoints[0].endpoint.address")
	for range 20 {
		if body, err := get(t, rt, "http://svc/"); err != nil || body != "good HTTP/1.1" {
			t.Errorf("a request after a rejected update: %q, %v", body, err)
		}
	}
	w.endpoints("c", serve(t, named("newer")))
	until(t, func() (bool, string) {
		body, _ := get(t, rt, "http://svc/")
		return body == "newer HTTP/1.1", body
	})
}
