package main

import (
	"errors"
	"fmt"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/examples/demos/story"
)

// The names of the resources.
const (
	target = "xds://west.example/checkout"

	checkoutListener  = "xdstp://west.example/envoy.config.listener.v3.Listener/checkout"
	checkoutRoutes    = "xdstp://west.example/envoy.config.route.v3.RouteConfiguration/checkout"
	checkoutCluster   = "xdstp://east.example/envoy.config.cluster.v3.Cluster/checkout"
	checkoutEndpoints = "xdstp://south.example/envoy.config.endpoint.v3.ClusterLoadAssignment/checkout"

	ordersListener  = "xdstp://east.example/envoy.config.listener.v3.Listener/orders"
	paymentsCluster = "xdstp://east.example/envoy.config.cluster.v3.Cluster/payments"
	searchCluster   = "xdstp://east.example/envoy.config.cluster.v3.Cluster/search"

	legacyCluster = "legacy" // an old-style name, without an authority
)

// publish publishes the resources of each authority on its control plane. The route of a
// listener at west.example refers to a cluster at east.example, whose endpoints are at
// south.example.
func (s *stage) publish() error {
	return errors.Join(
		setListener(s.a, ordersListener),
		s.setClusters(clusterText(checkoutCluster, checkoutEndpoints, 1024), clusterText(paymentsCluster, checkoutEndpoints, 100),
			clusterText(searchCluster, checkoutEndpoints, 100), clusterText(legacyCluster, "", 1024)),
		setListener(s.b, checkoutListener),
		s.b.SetText(checkoutRoutes, new(routev3.RouteConfiguration), `name: %q virtual_hosts { name: "checkout" domains: "*"
			routes { match { prefix: "/" } route { cluster: %q } } }`, checkoutRoutes, checkoutCluster),
		s.setEndpoints("10.0.0.1", "10.0.0.2"),
	)
}

func setListener(plane *story.ControlPlane, name string) error {
	return plane.SetText(name, new(listenerv3.Listener), `name: %q api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { route_config_name: %q config_source { self {} } }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`,
		name, checkoutRoutes)
}

func clusterText(name, serviceName string, maxRequests int) string {
	return fmt.Sprintf(`name: %q type: EDS eds_cluster_config { eds_config { self {} } service_name: %q }
		circuit_breakers { thresholds { max_requests { value: %d } } } `, name, serviceName, maxRequests)
}

// setClusters makes A send clusters in one response.
func (s *stage) setClusters(texts ...string) error {
	all := make(map[string]proto.Message)
	for _, text := range texts {
		c := new(clusterv3.Cluster)
		if err := story.Parse(c, "%s", text); err != nil {
			return err
		}
		all[c.GetName()] = c
	}
	return s.a.Set(all)
}

// setEndpoints makes B send the endpoints of the checkout.
func (s *stage) setEndpoints(hosts ...string) error {
	var list strings.Builder
	for _, h := range hosts {
		fmt.Fprintf(&list, `lb_endpoints { endpoint { address { socket_address { address: %q port_value: 8080 } } } } `, h)
	}
	return s.b.SetText(checkoutEndpoints, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q
		endpoints { locality { region: "south" zone: "south-1" } load_balancing_weight { value: 1 } %s }`, checkoutEndpoints, list.String())
}
