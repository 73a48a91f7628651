package route_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestCases(t *testing.T) {
	plugincase.Run(t, route.Type(), func() proto.Message { return new(routev3.RouteConfiguration) })
}

// TestKit runs the conformance kit on a resource that sets every field.
func TestKit(t *testing.T) {
	plugincase.Kit(t, plugintest.Plugin{
		Type: route.Type(), NameField: "name",
		Message: func() proto.Message { return new(routev3.RouteConfiguration) },
	}, "testdata/full")
}

// decode decodes a RouteConfiguration. The text follows its name.
func decode(t testing.TB, text string, opts ...plugincase.Option) *route.Update {
	t.Helper()
	return plugincase.Read[*route.Update](t, route.Type(), new(routev3.RouteConfiguration), `name: "r" `+text, opts...)
}

// one is a RouteConfiguration with one route, and first is this route.
func one(routeText string) string {
	return `virtual_hosts { domains: "*" routes { ` + routeText + ` } }`
}

func first(u *route.Update) *route.Route { return &u.VirtualHosts[0].Routes[0] }

func TestTimeouts(t *testing.T) {
	second := time.Second
	var zero time.Duration
	for text, want := range map[string][2]*time.Duration{
		``:                       {nil, nil},
		`max_stream_duration {}`: {nil, nil},
		`max_stream_duration { max_stream_duration { seconds: 1 } grpc_timeout_header_max { } }`: {&second, &zero},
	} {
		r := first(decode(t, one(`match { prefix: "" } route { cluster: "c" `+text+` }`)))
		if diff := cmp.Diff(want, [2]*time.Duration{r.MaxStreamDuration, r.GRPCTimeoutHeaderMax}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestAutoHostRewriteIsForTrustedServers(t *testing.T) {
	text := one(`match { prefix: "" } route { cluster: "c" auto_host_rewrite { value: true } }`)
	if first(decode(t, text)).AutoHostRewrite {
		t.Error("a server that is not trusted rewrites authorities (A81)")
	}
	if !first(decode(t, text, plugincase.Trusted())).AutoHostRewrite {
		t.Error("a trusted server does not rewrite authorities (A81)")
	}
	if first(decode(t, one(`match { prefix: "" } route { cluster: "c" auto_host_rewrite { } }`), plugincase.Trusted())).AutoHostRewrite {
		t.Error("auto_host_rewrite = false rewrites authorities")
	}
}

func TestHostRewriteIsForTrustedServers(t *testing.T) {
	text := one(`match { prefix: "" } route { cluster: "c" host_rewrite_literal: "proxy.example" }`)
	if got := first(decode(t, text)).HostRewrite; got != "" {
		t.Errorf("a server that is not trusted sets the authority %q (A111)", got)
	}
	if got := first(decode(t, text, plugincase.Trusted())).HostRewrite; got != "proxy.example" {
		t.Errorf("a trusted server sets the authority %q; want proxy.example (A111)", got)
	}
}

func TestRetry(t *testing.T) {
	u := decode(t, `virtual_hosts { domains: "*" retry_policy { retry_on: "unavailable, cancelled,5xx,cancelled" }
		routes { match { prefix: "/a" } route { cluster: "c" } }
		routes { match { prefix: "/b" } route { cluster: "c" retry_policy { retry_on: "5xx" num_retries { value: 3 } retry_back_off { base_interval { nanos: 1 } } } } }
		routes { match { prefix: "/c" } route { cluster: "c" retry_policy { retry_back_off { base_interval { seconds: 1 } max_interval { seconds: 3 } } } } }
		routes { match { prefix: "/d" } route { cluster: "c" retry_policy { retry_back_off { base_interval { seconds: 3000000000 } } } } }
		routes { match { prefix: "/e" } route { cluster: "c" retry_policy { retry_back_off { base_interval { seconds: 2 } max_interval { seconds: 2 } } } } } }`)
	h := &u.VirtualHosts[0]
	for i, want := range []*route.RetryPolicy{
		{Codes: []uint32{1, 14}, MaxRetries: 1, BackOff: route.BackOff{Base: 25 * time.Millisecond, Max: 250 * time.Millisecond}},
		{MaxRetries: 3, BackOff: route.BackOff{Base: time.Millisecond, Max: 10 * time.Millisecond}},
		{MaxRetries: 1, BackOff: route.BackOff{Base: time.Second, Max: 3 * time.Second}},
		{MaxRetries: 1, BackOff: route.BackOff{Base: 3e9 * time.Second, Max: math.MaxInt64 / 10 * 10}}, // not ten times that
		{MaxRetries: 1, BackOff: route.BackOff{Base: 2 * time.Second, Max: 2 * time.Second}},
	} {
		if diff := cmp.Diff(want, h.RetryFor(&h.Routes[i])); diff != "" {
			t.Errorf("route %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestHashPolicies(t *testing.T) {
	got := first(decode(t, one(`match { prefix: "" } route { cluster: "c"
		hash_policy { header { header_name: "X-User" regex_rewrite { pattern { regex: "^(.)(.*)$" } substitution: "\\2$-\\1" } } terminal: true }
		hash_policy { cookie { name: "x" } } hash_policy { filter_state { key: "other" } terminal: true }
		hash_policy { filter_state { key: "io.grpc.channel_id" } } }`))).HashPolicies
	if len(got) != 2 || got[0].Header != "x-user" || !got[0].Terminal || got[1].Header != "" || got[1].Terminal {
		t.Fatalf("policies %+v", got)
	}
	if s := got[0].Regex.ReplaceAllString("abc", got[0].Substitution); s != "bc$-a" {
		t.Errorf("the substitution rewrites abc to %q", s)
	}
}

// The decoder converts a substitution to a template of package regexp. \0 to \9 are groups. Any
// other character after a backslash is literal, and so is a backslash at the end.
func TestSubstitutions(t *testing.T) {
	for substitution, want := range map[string]string{
		`\0`: "${0}", `\9`: "${9}", `\1\2`: "${1}${2}", `\10`: "${1}0", `\/`: "/", `\:`: ":", `\\1`: `\1`, `\`: `\`, `a\`: `a\`, "$1": "$$1", "": "",
	} {
		got := first(decode(t, one(`match { prefix: "" } route { cluster: "c" hash_policy { header {
			header_name: "x" regex_rewrite { pattern { regex: "x" } substitution: `+strconv.Quote(substitution)+` } } } }`))).HashPolicies
		if len(got) != 1 || got[0].Substitution != want {
			t.Errorf("the substitution %q becomes %+v; want %q", substitution, got, want)
		}
	}
}

func TestSpecifiers(t *testing.T) {
	const text = `cluster_specifier_plugins { extension { name: "p" typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/acme.Choose" value { } } } } }
		cluster_specifier_plugins { is_optional: true extension { name: "q" typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/acme.Other" } } } }
		virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster_specifier_plugin: "q" } } routes { match { prefix: "" } route { cluster_specifier_plugin: "p" } } }`
	u := decode(t, text, plugincase.Extend(func(r resource.Registrar) {
		r.Extend(&resource.ClusterSpecifier{Config: "acme.Choose", Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (resource.LBConfig, error) {
			return resource.NewLBConfig("choose", c.Fields)
		}})
	}))
	r := u.VirtualHosts[0].Match("/a/b", nil)
	if r == nil || r.Action != (route.Specifier{Name: "p"}) || u.Specifiers["p"].Name != "choose" {
		t.Errorf("the route to an optional unknown plugin must be ignored: %+v, %+v", r, u.Specifiers)
	}
}

func TestOverrides(t *testing.T) {
	u := decode(t, one(`match { prefix: "" } route { cluster: "c" }
		typed_per_filter_config { key: "f" value { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/envoy.extensions.filters.http.fault.v3.HTTPFault" value { fields { key: "max_active_faults" value { number_value: 2 } } } } } }
		typed_per_filter_config { key: "o" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { is_optional: true config { [type.googleapis.com/envoy.config.core.v3.Address] { } } } } }`))
	got := first(u).Overrides
	if len(got) != 1 || got["f"].Message != "envoy.extensions.filters.http.fault.v3.HTTPFault" || got["f"].Config == nil {
		t.Errorf("overrides %+v", got)
	}
}

// A disabled override has no configuration, even if its FilterConfig has one.
func TestDisabledOverrides(t *testing.T) {
	const filterConfig = `value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true `
	u := decode(t, `virtual_hosts { domains: "*" typed_per_filter_config { key: "none" `+filterConfig+`} } }
		routes { match { prefix: "" } typed_per_filter_config { key: "unknown" `+filterConfig+`config { [type.googleapis.com/envoy.config.core.v3.Address] { } } } } }
			route { weighted_clusters { clusters { name: "c" weight { value: 1 }
				typed_per_filter_config { key: "rbac" `+filterConfig+`config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute] { } } } } } } } } }
		routes { match { prefix: "" } route { cluster: "c" }
			typed_per_filter_config { key: "on" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute] { } } } } } } }`)
	h := &u.VirtualHosts[0]
	off := route.FilterOverride{Disabled: true}
	cluster := h.Routes[0].Action.(route.WeightedClusters).Clusters[0]
	if h.Overrides["none"] != off || h.Routes[0].Overrides["unknown"] != off || cluster.Overrides["rbac"] != off {
		t.Errorf("overrides %+v, %+v, %+v; must be disabled", h.Overrides, h.Routes[0].Overrides, cluster.Overrides)
	}
	if on := h.Routes[1].Overrides["on"]; on.Disabled || on.Message == "" {
		t.Errorf("override %+v; must not be disabled", on)
	}
}
