package scopedroute_test

import (
	"fmt"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/plugins/scopedroute"
	"github.com/xdsforge/xdsforge/xdstest"
)

// An update has the key of a scope and the source of its routes.
func ExampleUpdate() {
	u, err := xdstest.TryDecode(scopedroute.Type(), &routev3.ScopedRouteConfiguration{
		Name: "tenant-a", RouteConfigurationName: "routes-a",
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{
			{Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: "tenant-a"}},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Key, u.Routes)
	// Output: [tenant-a] {routes-a}
}
