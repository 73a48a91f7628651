package route_test

import (
	"fmt"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
)

func to(cluster string) *routev3.Route_Route {
	return &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}}
}

// hosts encodes the RouteConfiguration of a gateway. Each of its 50 virtual hosts has four routes
// by prefix and header, and one by a regular expression that all hosts share.
func hosts() *routev3.RouteConfiguration {
	rc := &routev3.RouteConfiguration{Name: "routes"}
	for i := range 50 {
		vh := &routev3.VirtualHost{Name: fmt.Sprintf("host-%d", i), Domains: []string{fmt.Sprintf("host-%d.example.com", i)}}
		for j := range 4 {
			vh.Routes = append(vh.Routes, &routev3.Route{
				Match: &routev3.RouteMatch{
					PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: fmt.Sprintf("/service-%d/", j)},
					Headers: []*routev3.HeaderMatcher{{Name: "x-tier", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
						StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "gold"}},
					}}},
				},
				Action: to(fmt.Sprintf("cluster-%d-%d", i, j)),
			})
		}
		vh.Routes = append(vh.Routes, &routev3.Route{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: `/api/v[0-9]+/.*`}}},
			Action: to(fmt.Sprintf("cluster-%d-4", i)),
		})
		rc.VirtualHosts = append(rc.VirtualHosts, vh)
	}
	return rc
}

// methods encodes a RouteConfiguration of one virtual host with a route for each method.
func methods(tb testing.TB) *routev3.RouteConfiguration {
	tb.Helper()
	m, err := services(tb, 5000).Proto()
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func BenchmarkDecode(b *testing.B) {
	for name, m := range map[string]proto.Message{"hosts=50x5": hosts(), "methods=5000": methods(b)} {
		b.Run(name, func(b *testing.B) { plugincase.Bench(b, route.Type(), m) })
	}
}
