package virtualhost_test

import (
	"fmt"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/plugins/virtualhost"
	"github.com/xdsforge/xdsforge/xdstest"
)

// An update has the domains and the routes of a virtual host.
func ExampleUpdate() {
	u, err := xdstest.TryDecode(virtualhost.Type(), &routev3.VirtualHost{
		Name: "shop", Domains: []string{"shop.example"},
		Routes: []*routev3.Route{{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: "shop"}}},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Domains, u.Routes[0].Action)
	// Output: [shop.example] {shop}
}
