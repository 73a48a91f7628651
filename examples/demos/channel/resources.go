package main

import (
	"fmt"
	"net"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3" // for prototext

	"github.com/xdsforge/xdsforge/examples/demos/story"
)

// The resources, of both authorities.
const (
	listenerName = "xdstp://east.example/envoy.config.listener.v3.Listener/checkout"
	routeName    = "xdstp://east.example/envoy.config.route.v3.RouteConfiguration/checkout"
	stableName   = "xdstp://east.example/envoy.config.cluster.v3.Cluster/stable"
	canaryName   = "xdstp://west.example/envoy.config.cluster.v3.Cluster/canary"
	stableEDS    = "xdstp://east.example/envoy.config.endpoint.v3.ClusterLoadAssignment/stable"
	canaryEDS    = "xdstp://west.example/envoy.config.endpoint.v3.ClusterLoadAssignment/canary"
)

// abort is a filter that fails all calls.
const abort = `http_filters { name: "fault" typed_config { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] {
	abort { grpc_status: 8 percentage { numerator: 100 } } } } }`

// publishListener publishes the target's Listener with the given filters and the router.
func (s *stage) publishListener(filters string) error {
	return s.east.plane.SetText(listenerName, new(listenerv3.Listener), `name: %q api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { config_source { ads {} } route_config_name: %q }
			%s http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`,
		listenerName, routeName, filters)
}

// publishRest publishes the routes, and the clusters with their endpoints.
func (s *stage) publishRest() error {
	if err := s.east.plane.SetText(routeName, new(routev3.RouteConfiguration), `name: %q virtual_hosts { domains: "checkout"
		routes { match { prefix: "/" } route { weighted_clusters {
			clusters { name: %q weight { value: 80 } } clusters { name: %q weight { value: 20 } } } } } }`,
		routeName, stableName, canaryName); err != nil {
		return err
	}
	if err := cluster(s.east.plane, stableName, stableEDS, s.first, s.second); err != nil {
		return err
	}
	return cluster(s.west.plane, canaryName, canaryEDS, s.canary)
}

// cluster publishes a cluster with load reporting and one priority for each server.
func cluster(plane *story.ControlPlane, name, eds string, servers ...*backend) error {
	var localities strings.Builder
	for priority, b := range servers {
		host, port, err := net.SplitHostPort(b.addr)
		if err != nil {
			return err
		}
		fmt.Fprintf(&localities, `endpoints { priority: %d locality { zone: %q } load_balancing_weight { value: 1 }
			lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } } `, priority, b.name, host, port)
	}
	if err := plane.SetText(eds, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q %s`, eds, localities.String()); err != nil {
		return err
	}
	return plane.SetText(name, new(clusterv3.Cluster), `name: %q type: EDS lrs_server { self {} }
		eds_cluster_config { service_name: %q eds_config { ads {} } }`, name, eds)
}
