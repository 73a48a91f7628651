package main

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/examples/demos/story"
)

// resources is the file of the folder, with the port of the server.
const resources = `
"@type": type.googleapis.com/envoy.config.listener.v3.Listener
name: shop
api_listener:
  api_listener:
    "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
    rds: {config_source: {ads: {}}, route_config_name: shop}
    http_filters:
    - name: router
      typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
---
"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
name: shop
virtual_hosts:
- name: shop
  domains: ["*"]
  routes:
  - match: {prefix: /}
    route: {cluster: shop}
---
"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: shop
type: EDS
eds_cluster_config: {eds_config: {ads: {}}}
---
"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
cluster_name: shop
endpoints:
- locality: {zone: a}
  load_balancing_weight: 1
  lb_endpoints:
  - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %s}}}
`

// publish sets the same resources in a control plane, with the server as the only endpoint.
func publish(plane *story.ControlPlane, b *backend) error {
	if err := plane.SetText("shop", new(listenerv3.Listener), `name: "shop" api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { config_source { ads {} } route_config_name: "shop" }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`); err != nil {
		return err
	}
	if err := plane.SetText("shop", new(routev3.RouteConfiguration), `name: "shop" virtual_hosts { domains: "*"
		routes { match { prefix: "/" } route { cluster: "shop" } } }`); err != nil {
		return err
	}
	if err := plane.SetText("shop", new(clusterv3.Cluster), `name: "shop" alt_stat_name: %q type: EDS
		eds_cluster_config { eds_config { ads {} } }`, b.name); err != nil {
		return err
	}
	return plane.SetText("shop", new(endpointv3.ClusterLoadAssignment), `cluster_name: "shop" endpoints {
		locality { zone: "a" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %s } } } } }`, b.port)
}
