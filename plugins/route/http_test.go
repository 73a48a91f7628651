package route_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// host decodes a virtual host in profile HTTP.
func host(t *testing.T, text string) *route.VirtualHost {
	t.Helper()
	u := plugincase.Read[*route.Update](t, route.Type(), new(routev3.RouteConfiguration),
		`name: "r" request_headers_to_add { header { key: "x-level" value: "global" } } virtual_hosts { name: "h" domains: "*" `+text+` }`,
		plugincase.Profile(resource.HTTP))
	return &u.VirtualHosts[0]
}

// TestHTTPFields expects profile HTTP to read the fields that gRPC has no use for, and other profiles not to.
func TestHTTPFields(t *testing.T) {
	h := host(t, `
		request_headers_to_add { header { key: "x-level" value: "host" } }
		retry_policy { retry_on: "5xx,unavailable" num_retries { value: 7 } per_try_timeout { seconds: 2 } }
		request_body_buffer_limit { value: 5 }
		routes { per_request_buffer_limit_bytes { value: 7 } match { prefix: "/a" query_parameters { name: "q" string_match { exact: "1" } } }
			route { cluster: "c" timeout { seconds: 3 } prefix_rewrite: "/b" host_rewrite_literal: "other" }
			request_headers_to_add { header { key: "x-level" value: "100%% of %REQ(x-user?:path):3%" } append_action: OVERWRITE_IF_EXISTS_OR_ADD }
			response_headers_to_remove: "server" }
		routes { match { prefix: "/d" } direct_response { status: 404 body { inline_string: "gone" } } }
		routes { match { prefix: "/r" } redirect { https_redirect: true host_redirect: "h" response_code: FOUND strip_query: true prefix_rewrite: "/x" } }
		routes { match { prefix: "/w" } route { weighted_clusters { clusters { name: "z" weight { value: 0 } }
			clusters { name: "y" weight { value: 1 } request_headers_to_remove: "x-y" } } } }
		routes { match { prefix: "/h" } route { cluster_header: "x-cluster" retry_policy {} } }`)
	a := h.HTTP(0)
	if a.RetryBuffer != 7 || h.HTTP(3).RetryBuffer != 5 || host(t, `routes { match { prefix: "" } redirect {} }`).HTTP(0).RetryBuffer != math.MaxUint64 {
		t.Errorf("routes keep %d and %d bytes for retries; want the limits of the route and of the virtual host, and no limit without one", a.RetryBuffer, h.HTTP(3).RetryBuffer)
	}
	if len(a.Query) != 1 || a.Timeout != 3*time.Second || a.Rewrite.Prefix != "/b" || a.Rewrite.Host != "other" {
		t.Errorf("route /a is %+v", a)
	}
	if r := a.Retry; r == nil || r.On != route.Retry5xx || r.GRPC != 1<<14 || r.Max != 7 || r.PerTry != 2*time.Second {
		t.Errorf("route /a has the retry policy %+v, want that of the virtual host", a.Retry)
	}
	var values []string
	for _, c := range a.Headers.Request {
		values = append(values, c.Value.Format(func(name string) string {
			return map[string]string{":path": "/abc"}[name]
		}))
	}
	if got := strings.Join(values, "; "); got != "100% of /ab; host; global" {
		t.Errorf("the values of x-level are %q", got)
	}
	if r := a.Headers.Response; len(r) != 1 || r[0].Name != "Server" || r[0].Action != route.RemoveHeader {
		t.Errorf("the changes of responses are %+v, want that Server is removed", r)
	}
	if d := h.HTTP(1).Direct; d == nil || *d != (route.DirectResponse{Status: 404, Body: "gone"}) {
		t.Errorf("route /d has the response %+v", d)
	}
	r := h.HTTP(2).Redirect
	if r == nil || r.Scheme != "https" || r.Host != "h" || r.Status != 302 || !r.StripQuery || r.Rewrite.Prefix != "/x" {
		t.Errorf("route /r redirects to %+v", r)
	}
	if c := h.HTTP(3).Clusters; len(c) != 1 || c[0].Request[0].Name != "X-Y" || h.HTTP(3).Timeout != 15*time.Second {
		t.Errorf("route /w has the changes %+v, want one cluster, and the default timeout", c)
	}
	if h.Routes[4].Ignored != "" || h.HTTP(4).Retry.Max != 1 || h.HTTP(4).Retry.On != 0 {
		t.Errorf("route /h is ignored (%q), or does not have its own retry policy", h.Routes[4].Ignored)
	}
	grpc := plugincase.Read[*route.Update](t, route.Type(), new(routev3.RouteConfiguration),
		`name: "r" virtual_hosts { domains: "*" routes { match { prefix: "" } direct_response { status: 404 } } }`)
	if got := grpc.VirtualHosts[0].HTTP(0); got != nil {
		t.Errorf("profile gRPC reads %+v, want nothing", got)
	}
}

// request is a request with headers and query parameters.
type request struct {
	headers map[string][]string
	query   map[string]string
}

func (r request) Values(name string) []string { return r.headers[name] }

func (r request) Query(name string) (string, bool) {
	v, ok := r.query[name]
	return v, ok
}

// TestMatchHTTP expects routes to match query parameters, binary headers and pseudo-headers, for short and long tables.
func TestMatchHTTP(t *testing.T) {
	routes := []string{
		`prefix: "/" query_parameters { name: "q" string_match { exact: "1" } }`,
		`prefix: "/" query_parameters { name: "p" present_match: true }`,
		`prefix: "/b" headers { name: "x-bin" present_match: true }`,
		`prefix: "/" headers { name: ":method" string_match { exact: "PUT" } }`,
		`prefix: "/" headers { name: "content-type" string_match { exact: "application/grpc" } }`,
		`prefix: "/b"`,
	}
	for _, filler := range []int{0, 20} {
		var b strings.Builder
		for _, r := range routes {
			fmt.Fprintf(&b, `routes { match { %s } route { cluster: "c" } } `, r)
		}
		for i := range filler {
			fmt.Fprintf(&b, `routes { match { path: "/%d" } route { cluster: "c" } } `, i)
		}
		h := host(t, b.String())
		for i, tt := range []struct {
			path string
			request
			want int
		}{
			{"/", request{query: map[string]string{"q": "1"}}, 0},
			{"/", request{query: map[string]string{"q": "2", "p": ""}}, 1},
			{"/b", request{headers: map[string][]string{"x-bin": {"1"}}}, 2},
			{"/", request{headers: map[string][]string{":method": {"PUT"}}}, 3},
			{"/", request{headers: map[string][]string{"content-type": {"application/grpc"}}}, 4},
			{"/b", request{}, 5},
			{"/", request{}, -1},
		} {
			if got := h.MatchHTTP(tt.path, tt.request); got != tt.want {
				t.Errorf("request %d with %d more routes matches route %d, want %d", i, filler, got, tt.want)
			}
		}
	}
}

// A request without a virtual host matches no route.
func TestMatchHTTPWithoutAVirtualHost(t *testing.T) {
	var h *route.VirtualHost
	if got := h.MatchHTTP("/", request{}); got != -1 {
		t.Errorf("a request matches route %d of no virtual host; want -1", got)
	}
}

// TestHTTPErrors expects the violations to name the fields that are not supported.
func TestHTTPErrors(t *testing.T) {
	for text, want := range map[string]string{
		`match { prefix: "" } direct_response { status: 200 body { filename: "/etc/passwd" } }`:                            `virtual_hosts[0].routes[0].direct_response.body; must be inline_bytes or inline_string`,
		`match { prefix: "" } route { cluster: "c" } request_headers_to_add { header { key: ":path" value: "x" } }`:        `must be neither a pseudo-header nor Host`,
		`match { prefix: "" } route { cluster: "c" } request_headers_to_add { header { key: "x" value: "%START_TIME%" } }`: `must have only the operators`,
		`match { prefix: "" } route { cluster: "c" } request_headers_to_add { header { key: "x" value: "100%" } }`:         `must have only the operators`,
		`match { prefix: "" } route { cluster: "c" prefix_rewrite: "/" regex_rewrite { pattern { regex: "a" } } }`:         `must not be set beside prefix_rewrite`,
		`match { prefix: "" } direct_response { status: 200 body { inline_string: "` + strings.Repeat("x", 5000) + `" } }`: `must have at most 4096 bytes`,
	} {
		if got := rejected(t, text); !strings.Contains(got, want) {
			t.Errorf("%.120s:\n%v, want %q", text, got, want)
		}
	}
}

// rejected returns the error of a route in profile HTTP, or "".
func rejected(t *testing.T, text string) string {
	t.Helper()
	m := new(routev3.RouteConfiguration)
	if err := prototext.Unmarshal([]byte(`name: "r" virtual_hosts { name: "h" domains: "*" routes { `+text+` } }`), m); err != nil {
		t.Fatal(err)
	}
	_, err := plugincase.Decode(t, route.Type(), m, plugincase.Profile(resource.HTTP))
	if err == nil {
		return ""
	}
	return err.Error()
}

// Two RouteConfigurations that differ only in a field of profile HTTP are not equal.
func TestHTTPFieldsInEqual(t *testing.T) {
	read := func(action string) *route.Update {
		return plugincase.Read[*route.Update](t, route.Type(), new(routev3.RouteConfiguration),
			`name: "r" virtual_hosts { name: "v" domains: "*" routes { match { prefix: "/" } `+action+` } }`, plugincase.Profile(resource.HTTP))
	}
	for _, pair := range [][2]string{
		{`redirect { host_redirect: "a" } } require_tls: NONE routes { match { prefix: "/" } redirect { }`, `redirect { host_redirect: "a" } } require_tls: ALL routes { match { prefix: "/" } redirect { }`},
		{`redirect { host_redirect: "a" }`, `redirect { host_redirect: "b" }`},
		{`route { cluster: "c" timeout { seconds: 1 } }`, `route { cluster: "c" timeout { seconds: 2 } }`},
		{`route { cluster: "c" regex_rewrite { pattern { regex: "a" } substitution: "b" } }`, `route { cluster: "c" regex_rewrite { pattern { regex: "c" } substitution: "b" } }`},
	} {
		a, b := read(pair[0]), read(pair[1])
		if a.Equal(b) || b.Equal(a) {
			t.Errorf("%s is equal to %s", pair[0], pair[1])
		}
		if !a.Equal(read(pair[0])) {
			t.Errorf("%s is not equal to itself", pair[0])
		}
	}
}
