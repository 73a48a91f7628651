package httpxds_test

import (
	"fmt"
	"testing"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/httpxds"
)

const (
	ownOff = ` typed_per_filter_config { key: "own" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } }`
	ownOn  = ` typed_per_filter_config { key: "own" value { [type.googleapis.com/google.protobuf.StringValue] { value: "on" } } }`
)

// A client has instances and interceptors only of filters that requests can reach. Requests without a route reach those that the
// Listener enables.
func TestClientHasNoInstancesOfDisabledFilters(t *testing.T) {
	weighted := func(own, first, second string) string {
		return fmt.Sprintf(`routes { match { prefix: "" } route { weighted_clusters { clusters { name: "c" weight { value: 1 } %s } clusters { name: "c" weight { value: 1 } %s } } } %s } `, first, second, own)
	}
	for _, tt := range []struct {
		disabled                bool // by the Listener
		host, routes            string
		instances, interceptors int64
	}{
		{false, ownOff, to("c"), 1, 1}, // that of requests without a route
		{true, "", to("c"), 0, 0},
		{true, ownOn, to("c"), 1, 1},
		{true, ownOn, `routes { match { prefix: "" } route { cluster: "c" } ` + ownOff + ` }`, 0, 0},
		{true, ownOn, weighted("", ownOff, ownOff), 0, 0},
		{true, "", weighted(ownOn, ownOff, ownOff), 0, 0},
		{true, ownOn, weighted(ownOn, ownOff, ""), 1, 1},
		{true, "", weighted("", ownOn, ownOn), 1, 2},
		{true, ownOn, weighted("", ownOff, ownOff) + `routes { match { prefix: "/d" } direct_response { status: 200 } }`, 1, 1},
	} {
		w := newWorld(t)
		var f clientFilter
		own := f.filter()
		own.Override, own.ParseOverride = own.Config, own.Parse
		w.env = w.plane.Env(xdsforge.WithTypes(httpxds.Register, func(r xdsforge.Registrar) { r.Extend(own) }))
		w.cluster("c", "", serve(t, named("a")))
		w.filtered(fmt.Sprintf(` http_filters { name: "own" disabled: %t typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "a" } } }`, tt.disabled),
			`virtual_hosts { name: "h" domains: "svc" %s %s }`, tt.host, tt.routes)
		if body, err := get(t, w.transport(), "http://svc/"); err != nil || body != "a HTTP/1.1" {
			t.Errorf("disabled by the Listener %t, host%s, %s: %q, %v", tt.disabled, tt.host, tt.routes, body, err)
		}
		if n, i := f.instances.Load(), f.interceptors.Load(); n != tt.instances || i != tt.interceptors {
			t.Errorf("disabled by the Listener %t, host%s, %s: %d instances and %d interceptors; want %d and %d", tt.disabled, tt.host, tt.routes, n, i, tt.instances, tt.interceptors)
		}
	}
}

// The same for a server.
func TestServerHasNoInstancesOfDisabledFilters(t *testing.T) {
	for _, tt := range []struct {
		disabled     bool
		host, route  string
		instances    int64
		interceptors int64
	}{
		{false, ownOff, "", 1, 1}, // that of requests without a route
		{true, "", "", 0, 0},
		{true, ownOn, "", 1, 1},
		{true, ownOn, ownOff, 0, 0},
		{true, "", ownOn, 1, 1},
	} {
		var f recordedFilter
		s := newSite(t, named("a"), "", func(r xdsforge.Registrar) { r.Extend(f.filter()) })
		s.listen(chain("web", `rds { route_config_name: "r" config_source { ads {} } } `+
			fmt.Sprintf(`http_filters { name: "own" disabled: %t typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "a" } } }`, tt.disabled)))
		s.routes(fmt.Sprintf(`virtual_hosts { name: "v" domains: "*" %s routes { match { prefix: "/" } non_forwarding_action {} %s } }`, tt.host, tt.route))
		s.serving("")
		if code := s.get("/").code; code != 200 {
			t.Errorf("disabled by the Listener %t, host%s, route%s: status %d", tt.disabled, tt.host, tt.route, code)
		}
		if n, i := f.instances.Load(), f.interceptors.Load(); n != tt.instances || i != tt.interceptors {
			t.Errorf("disabled by the Listener %t, host%s, route%s: %d instances and %d interceptors; want %d and %d", tt.disabled, tt.host, tt.route, n, i, tt.instances, tt.interceptors)
		}
	}
}
