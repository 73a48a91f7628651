package route_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// routeOf decodes a route with a match.
func routeOf(t *testing.T, match string) *route.Route {
	t.Helper()
	m := new(routev3.RouteConfiguration)
	if err := prototext.Unmarshal([]byte(`name: "r" virtual_hosts { domains: "*" routes { match { `+match+` } route { cluster: "c" } } }`), m); err != nil {
		t.Fatal(err)
	}
	u, err := plugincase.Decode(t, route.Type(), m)
	if err != nil {
		t.Fatal(err)
	}
	return &u.(*route.Update).VirtualHosts[0].Routes[0]
}

// TestConditions expects the conditions of a route, and the reason why a call without them does not match.
func TestConditions(t *testing.T) {
	call := route.Metadata{"h": {"0"}, "two": {"a", "b"}, "x-bin": {"0"}}
	for match, want := range map[string]struct{ conditions, mismatch string }{
		`prefix: "/a"`: {`prefix "/a"`, `the path "/m" does not match prefix "/a"`},
		`path: "/a" case_sensitive { value: false }`:                                               {`path "/a" in any case`, `the path "/m" does not match path "/a" in any case`},
		`safe_regex { regex: "/a.*" }`:                                                             {`path ~ "/a.*"`, `the path "/m" does not match path ~ "/a.*"`},
		`prefix: "" headers { name: "g" present_match: true }`:                                     {`prefix "", g is present`, `the call has no header that matches g is present`},
		`prefix: "" headers { name: "h" present_match: false }`:                                    {`prefix "", h is absent`, `the header h: "0" does not match h is absent`},
		`prefix: "" headers { name: "h" present_match: true invert_match: true }`:                  {`prefix "", h is absent`, `the header h: "0" does not match h is absent`},
		`prefix: "" headers { name: "h" range_match { start: 1 end: 5 } }`:                         {`prefix "", h in [1, 5)`, `the header h: "0" does not match h in [1, 5)`},
		`prefix: "" headers { name: "h" string_match { prefix: "A" ignore_case: true } }`:          {`prefix "", h starts with "a" in any case`, `the header h: "0" does not match h starts with "a" in any case`},
		`prefix: "" headers { name: "h" string_match { exact: "0" } invert_match: true }`:          {`prefix "", h not = "0"`, `the header h: "0" does not match h not = "0"`},
		`prefix: "" headers { name: "two" string_match { suffix: "a" } }`:                          {`prefix "", two ends with "a"`, `the header two: "a,b" does not match two ends with "a"`},
		`prefix: "" headers { name: "content-type" string_match { contains: "json" } }`:            {`prefix "", content-type contains "json"`, `the header content-type: "application/grpc" does not match content-type contains "json"`},
		`prefix: "" headers { name: "x-bin" string_match { exact: "0" } }`:                         {`prefix "", x-bin = "0"`, `routes do not see binary headers, and one must match x-bin = "0"`},
		`prefix: "" runtime_fraction { default_value { numerator: 5 denominator: TEN_THOUSAND } }`: {`prefix "", 0.05 % of the calls`, ""},
		`prefix: "/m" headers { name: "h" string_match { exact: "0" } }`:                           {`prefix "/m", h = "0"`, ""},
	} {
		r := routeOf(t, match)
		if got := r.Conditions(); got != want.conditions {
			t.Errorf("%s: conditions %s; want %s", match, got, want.conditions)
		}
		if got := r.Mismatch("/m", call); got != want.mismatch {
			t.Errorf("%s: mismatch %q; want %q", match, got, want.mismatch)
		}
	}
}

// TestConditionsOfLiterals describes routes that no decoder makes.
func TestConditionsOfLiterals(t *testing.T) {
	r := &route.Route{Ignored: "for a test"}
	if got := r.Conditions() + "; " + r.Mismatch("/m", nil); got != "ignored; clients ignore the route: for a test" {
		t.Error(got)
	}
	r = &route.Route{Headers: []matcher.Header{{Name: "h"}}}
	if got := r.Conditions() + "; " + r.Mismatch("/m", nil); got != `a path matcher that gRPC does not support, h of any value; the path "/m" does not match a path matcher that gRPC does not support` {
		t.Error(got)
	}
	r = &route.Route{Path: route.Prefix{}, CaseSensitive: true, Headers: make([]matcher.Header, 23)}
	if got := r.Conditions(); !strings.HasSuffix(got, ", 3 further headers") {
		t.Error(got)
	}
	if got := r.Mismatch("/m", nil); got != "the call has no header that matches  of any value" {
		t.Error(got)
	}
}
