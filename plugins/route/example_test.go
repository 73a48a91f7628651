package route_test

import (
	"fmt"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/xdstest"
)

// VirtualHost and Match find the route of a call without allocating.
func ExampleUpdate_VirtualHost() {
	to := func(cluster string) *routev3.Route_Route {
		return &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}}
	}
	u, err := xdstest.TryDecode(route.Type(), &routev3.RouteConfiguration{
		Name: "shop",
		VirtualHosts: []*routev3.VirtualHost{{Domains: []string{"*.shop.example"}, Routes: []*routev3.Route{
			{Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/shop.Cart/"}}, Action: to("cart")},
			{Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}, Action: to("rest")},
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	host := u.VirtualHost("eu.shop.example")
	for _, method := range []string{"/shop.Cart/Add", "/shop.Orders/List"} {
		r := host.Match(method, route.Metadata{})
		fmt.Println(method, r.Action)
	}
	// Output:
	// /shop.Cart/Add {cart}
	// /shop.Orders/List {rest}
}
