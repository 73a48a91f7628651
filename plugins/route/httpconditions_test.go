package route_test

import (
	"fmt"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A prefix that ends at a slash matches alike, whether the virtual host has few routes or a table.
func TestSeparatedPrefix(t *testing.T) {
	for _, others := range []int{0, 20} {
		var more strings.Builder
		for i := range others {
			fmt.Fprintf(&more, `routes { match { path: "/%d" } non_forwarding_action {} } `, i)
		}
		h := host(t, more.String()+`routes { match { path_separated_prefix: "/a" } non_forwarding_action {} }
			routes { match { path_separated_prefix: "/B" case_sensitive {} } non_forwarding_action {} }`)
		for path, want := range map[string]int{"/a": 0, "/a/": 0, "/a/b": 0, "/ab": -1, "/": -1, "/A": -1, "/b/x": 1, "/B": 1, "/Bx": -1} {
			if want >= 0 {
				want += others
			}
			if got := h.MatchHTTP(path, nil); got != want {
				t.Errorf("beside %d others, %s matches route %d; want %d", others, path, got, want)
			}
		}
	}
}

// Profile Envoy reads such a prefix. Profile gRPC rejects it (A28).
func TestSeparatedPrefixByProfile(t *testing.T) {
	const text = `name: "r" virtual_hosts { name: "h" domains: "*" routes { match { path_separated_prefix: "/a" } non_forwarding_action {} } }`
	u := plugincase.Read[*route.Update](t, route.Type(), new(routev3.RouteConfiguration), text, plugincase.Profile(resource.Envoy))
	r := u.VirtualHosts[0].Match("/a/b", nil)
	if r == nil || r.Conditions() != `path or directory "/a"` || u.VirtualHosts[0].Match("/ab", nil) != nil {
		t.Errorf("in profile Envoy, the route of /a/b is %+v", r)
	}
	m := new(routev3.RouteConfiguration)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	if _, err := plugincase.Decode(t, route.Type(), m); err == nil {
		t.Error("profile GRPC accepts the prefix")
	}
}

// Profile HTTP rejects conditions that it cannot read.
func TestConditionViolations(t *testing.T) {
	const routes = ` routes { match { prefix: "" %s } non_forwarding_action {} }`
	for text, want := range map[string]string{
		fmt.Sprintf(routes, `cookies { name: "c" string_match { safe_regex { regex: "(" } } }`): `routes[0].match.cookies[0].string_match.safe_regex.regex = "("; must be an RE2 regular expression`,
		fmt.Sprintf(routes, `cookies { name: "c" }`):                                            `routes[0].match.cookies[0].string_match`,
		fmt.Sprintf(routes, ``) + ` require_tls: 7`:                                             `virtual_hosts[0].require_tls = 7; must be one of NONE, EXTERNAL_ONLY, ALL`,
	} {
		m := new(routev3.RouteConfiguration)
		if err := prototext.Unmarshal([]byte(`name: "r" virtual_hosts { name: "h" domains: "*" `+text+` }`), m); err != nil {
			t.Fatal(err)
		}
		_, err := plugincase.Decode(t, route.Type(), m, plugincase.Profile(resource.HTTP))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// Only profile HTTP reads the settings of a RouteConfiguration for all virtual hosts, and TLS that they require.
func TestRouteConfigurationSettings(t *testing.T) {
	const text = `name: "r" ignore_port_in_host_matching: true virtual_hosts { name: "h" domains: "svc" require_tls: EXTERNAL_ONLY }
		typed_per_filter_config { key: "f" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } }`
	for _, tt := range []struct {
		profile resource.Profile
		read    bool
	}{{resource.HTTP, true}, {resource.Envoy, false}} {
		u := plugincase.Read[*route.Update](t, route.Type(), new(routev3.RouteConfiguration), text, plugincase.Profile(tt.profile))
		found := u.VirtualHost("svc:80") != nil
		if u.IgnorePort != tt.read || found != tt.read || u.Overrides["f"].Disabled != tt.read || u.VirtualHosts[0].RequiresTLS(false) != tt.read || u.VirtualHosts[0].RequiresTLS(true) {
			t.Errorf("profile %v reads %v, %v, %v", tt.profile, u.IgnorePort, u.Overrides, u.VirtualHosts[0].RequiresTLS(false))
		}
	}
	if (*route.VirtualHost)(nil).RequiresTLS(false) {
		t.Error("a nil virtual host requires TLS")
	}
}
