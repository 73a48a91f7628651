package route

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/plugins/plugintest"
)

// A match on more than the path is not taken for one on the path alone.
func TestPath(t *testing.T) {
	prefix := func(m *routev3.RouteMatch) *routev3.RouteMatch {
		m.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/a"}
		return m
	}
	exact := func(m *routev3.RouteMatch) *routev3.RouteMatch {
		m.PathSpecifier = &routev3.RouteMatch_Path{Path: "/b"}
		return m
	}
	for name, test := range map[string]struct {
		match *routev3.RouteMatch
		want  Path
	}{
		"prefix":        {prefix(&routev3.RouteMatch{}), Prefix{Value: "/a"}},
		"exact":         {exact(&routev3.RouteMatch{}), Exact{Value: "/b"}},
		"gRPC, ignored": {prefix(&routev3.RouteMatch{Grpc: &routev3.RouteMatch_GrpcRouteMatchOptions{}}), Prefix{Value: "/a"}},
		"regex":         {&routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{}}, nil},
		"header":        {prefix(&routev3.RouteMatch{Headers: []*routev3.HeaderMatcher{{Name: "x"}}}), nil},
		"parameter":     {prefix(&routev3.RouteMatch{QueryParameters: []*routev3.QueryParameterMatcher{{Name: "x"}}}), nil},
		"share":         {exact(&routev3.RouteMatch{RuntimeFraction: &corev3.RuntimeFractionalPercent{}}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := plugintest.Decode(t, Type(), "", &routev3.RouteConfiguration{
				Name:         "r",
				VirtualHosts: []*routev3.VirtualHost{{Domains: []string{"*"}, Routes: []*routev3.Route{{Match: test.match}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := u.(*Update).VirtualHosts[0].Routes[0].Path; got != test.want {
				t.Errorf("Path = %#v; want %#v", got, test.want)
			}
		})
	}
}
