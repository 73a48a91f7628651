package main

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"                      // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func messages() []string {
	return []string{listenerName, "envoy.config.route.v3.RouteConfiguration", "envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment"}
}

const listenerName = "envoy.config.listener.v3.Listener"

// steps is the story: parts come one by one, and one of them changes.
func steps() []step {
	return []step{
		{what: "A listener, its routes, and the cluster that they lead to", incomplete: true, resources: map[string]proto.Message{
			"web": text(new(listenerv3.Listener), `name: "web" api_listener { api_listener { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				rds { route_config_name: "web-routes" config_source { ads { } } }
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] { } } } } } }`),
			"web-routes": text(new(routev3.RouteConfiguration), `name: "web-routes" virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "shop" } } }`),
			"shop":       eds("shop"),
		}},
		{what: "Its endpoints", resources: map[string]proto.Message{"shop-endpoints": endpoints("shop")}},
		{what: "Two more clusters, and shop becomes an aggregate of them", incomplete: true, resources: map[string]proto.Message{
			"shop": text(new(clusterv3.Cluster), `name: "shop" cluster_type { name: "envoy.clusters.aggregate" typed_config {
				[type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: "east" clusters: "west" } } }`),
			"east": eds("east"), "west": eds("west"),
		}},
		{what: "The endpoints of both", resources: map[string]proto.Message{"east-endpoints": endpoints("east"), "west-endpoints": endpoints("west")}},
	}
}

func eds(name string) proto.Message {
	return text(new(clusterv3.Cluster), `name: "`+name+`" type: EDS eds_cluster_config { eds_config { ads { } } service_name: "`+name+`-endpoints" }`)
}

func endpoints(name string) proto.Message {
	return text(new(endpointv3.ClusterLoadAssignment), `cluster_name: "`+name+`-endpoints" endpoints { locality { zone: "`+name+`" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" port_value: 80 } } } } }`)
}

// text reads a message from text that is right.
func text[M proto.Message](m M, s string) proto.Message {
	if err := prototext.Unmarshal([]byte(s), m); err != nil {
		panic(err)
	}
	return m
}
