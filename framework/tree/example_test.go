package tree_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3" // for the text of a cluster

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// A program watches a Listener with all resources that it refers to. It receives a snapshot only
// when all of them have arrived.
func ExampleWatch() {
	plane, err := controlplane.Start(controlplane.Standard())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plane.Stop()
	c, err := newClient(plane.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	next, stop := iter.Pull(tree.Watch(ctx, c, listener.Type(), "web"))
	defer stop()

	err = errors.Join(
		plane.SetText("web", new(listenerv3.Listener), `name: "web" api_listener { api_listener {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				rds { route_config_name: "web-routes" config_source { ads {} } }
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`),
		plane.SetText("web-routes", new(routev3.RouteConfiguration), `name: "web-routes"
			virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "shop" } } }`),
		setCluster(plane, "shop"),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(next())

	// The cluster becomes an aggregate of two others.
	err = errors.Join(
		setCluster(plane, "east"), setCluster(plane, "west"),
		plane.SetText("shop", new(clusterv3.Cluster), `name: "shop" cluster_type { name: "envoy.clusters.aggregate" typed_config {
			[type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: "east" clusters: "west" } } }`),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(next())

	// Output:
	// envoy.config.listener.v3.Listener web
	// envoy.config.route.v3.RouteConfiguration web-routes
	// envoy.config.cluster.v3.Cluster shop
	// envoy.config.endpoint.v3.ClusterLoadAssignment shop-endpoints
	//
	// envoy.config.listener.v3.Listener web
	// envoy.config.route.v3.RouteConfiguration web-routes
	// envoy.config.cluster.v3.Cluster shop
	// envoy.config.cluster.v3.Cluster east
	// envoy.config.cluster.v3.Cluster west
	// envoy.config.endpoint.v3.ClusterLoadAssignment east-endpoints
	// envoy.config.endpoint.v3.ClusterLoadAssignment west-endpoints
	// shop is east, west
}

func newClient(server string) (*client.Client, error) {
	config, err := bootstrap.New(bootstrap.Spec{Servers: []bootstrap.ServerSpec{{
		URI: server, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}},
	}}})
	if err != nil {
		return nil, err
	}
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		return nil, err
	}
	return client.New(config, types, client.Options{})
}

// setCluster publishes a cluster with its endpoints.
func setCluster(plane *controlplane.Server, name string) error {
	return errors.Join(
		plane.SetText(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } service_name: "%[1]s-endpoints" }`, name),
		plane.SetText(name+"-endpoints", new(endpointv3.ClusterLoadAssignment), `cluster_name: "%s-endpoints" endpoints {
			locality { zone: %[1]q } load_balancing_weight { value: 1 }
			lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" port_value: 80 } } } } }`, name),
	)
}

// show prints a snapshot, and the leaves of aggregate clusters.
func show(ev resource.Event[*tree.Snapshot], _ bool) {
	if ev.Err != nil {
		log.Fatal(ev.Err)
	}
	s := ev.Update
	find := func(name string) (*cluster.Update, error) {
		for ref, state := range s.All() {
			if u, ok := state.Update.(*cluster.Update); ok && ref.Name.String() == name {
				return u, nil
			}
		}
		return nil, resource.ErrNotFound
	}
	for ref := range s.All() {
		fmt.Println(ref)
	}
	shop, err := find("shop")
	if err != nil {
		log.Fatal(err)
	}
	leaves, err := shop.Leaves(find)
	if err != nil {
		log.Fatal(err)
	}
	if len(leaves) > 1 {
		fmt.Printf("shop is %v, %v\n", leaves[0].Name(), leaves[1].Name())
	}
	fmt.Println()
}
