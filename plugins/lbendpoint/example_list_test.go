package lbendpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
)

// The resources of a control plane: the localities of a cluster, and the endpoints of one locality.
var resources = map[string]string{
	"localities.yaml": `
"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
cluster_name: checkout
endpoints:
- locality: {zone: a}
  load_balancing_weight: 1
  leds_cluster_locality_config:
    leds_config: {self: {}}
    leds_collection_name: xdstp://shop/envoy.config.endpoint.v3.LbEndpointCollection/checkout/a
`,
	"endpoints.yaml": `
"@type": type.googleapis.com/envoy.service.discovery.v3.Resource
name: xdstp://shop/envoy.config.endpoint.v3.LbEndpointCollection/checkout/a
resource:
  "@type": type.googleapis.com/envoy.config.endpoint.v3.LbEndpointCollection
  entries:
  - inline_entry:
      resource:
        "@type": type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint
        endpoint: {address: {socket_address: {address: 10.0.0.1, port_value: 8080}}}
`,
}

// The endpoints of a locality are in a list collection. Channels of grpcxds follow the name by themselves. A client of its
// own watches the list.
func Example() {
	dir, err := os.MkdirTemp("", "lists")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range resources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	config, err := bootstrap.New(bootstrap.Spec{
		Servers:     []bootstrap.ServerSpec{{URI: "file:" + dir}},
		Authorities: map[string]bootstrap.AuthoritySpec{"shop": {}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(endpoint.Register, lbendpoint.Register))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	assignment, err := endpoint.Get(ctx, c, "checkout")
	if err != nil {
		fmt.Println(err)
		return
	}
	locality := assignment.Localities[0]
	fmt.Println("the endpoints of zone", locality.ID.Zone, "are in", locality.Collection)
	for ev := range lbendpoint.WatchCollection(ctx, c, locality.Collection) {
		if ev.Update != nil {
			fmt.Println(ev.Update.Address())
		}
		if ev.Synced {
			return
		}
	}
	// Output:
	// the endpoints of zone a are in xdstp://shop/envoy.config.endpoint.v3.LbEndpointCollection/checkout/a
	// 10.0.0.1:8080
}
