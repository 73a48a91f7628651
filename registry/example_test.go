package registry_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

func Example() {
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range types.All() {
		fmt.Println(t.Name)
	}
	// Output:
	// envoy.config.cluster.v3.Cluster
	// envoy.config.endpoint.v3.ClusterLoadAssignment
	// envoy.config.listener.v3.Listener
	// envoy.config.route.v3.RouteConfiguration
}
