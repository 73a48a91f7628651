package main

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The names of this story's resources.
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

const listenerMessage = "envoy.config.listener.v3.Listener"

// messages are the types that the control planes serve.
func messages() []string {
	return []string{
		listenerMessage,
		"envoy.config.route.v3.RouteConfiguration",
		"envoy.config.cluster.v3.Cluster",
		"envoy.config.endpoint.v3.ClusterLoadAssignment",
	}
}

// publish gives each control plane what it speaks for. The route of a listener at
// west.example leads to a cluster at east.example, and that one's endpoints are at
// south.example.
func (s *stage) publish() error {
	checkout, err := listenerResource(checkoutListener, checkoutRoutes)
	if err != nil {
		return err
	}
	orders, err := listenerResource(ordersListener, checkoutRoutes)
	if err != nil {
		return err
	}
	if err := s.a.Update(map[string]proto.Message{
		ordersListener:  orders,
		checkoutCluster: clusterResource(checkoutCluster, checkoutEndpoints, 1024),
		paymentsCluster: clusterResource(paymentsCluster, checkoutEndpoints, 100),
		searchCluster:   clusterResource(searchCluster, checkoutEndpoints, 100),
		legacyCluster:   clusterResource(legacyCluster, "", 1024),
	}); err != nil {
		return err
	}
	return s.b.Update(map[string]proto.Message{
		checkoutListener:  checkout,
		checkoutRoutes:    routeResource(checkoutRoutes, checkoutCluster),
		checkoutEndpoints: endpointResource(checkoutEndpoints, "10.0.0.1", "10.0.0.2"),
	})
}

// self says that a resource is found where the one that names it came from.
func self() *corev3.ConfigSource {
	return &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}}
}

func listenerResource(name, routeConfig string) (*listenerv3.Listener, error) {
	router, err := anypb.New(new(routerv3.Router))
	if err != nil {
		return nil, err
	}
	manager, err := anypb.New(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: routeConfig, ConfigSource: self()}},
		HttpFilters:    []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: router}}},
	})
	return &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: manager}}, err
}

func routeResource(name, clusterName string) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{
		Name: "checkout", Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: clusterName},
			}},
		}},
	}}}
}

func clusterResource(name, serviceName string, maxRequests uint32) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: self(), ServiceName: serviceName},
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxRequests: wrapperspb.UInt32(maxRequests),
		}}},
	}
}

func endpointResource(name string, hosts ...string) *endpointv3.ClusterLoadAssignment {
	locality := &endpointv3.LocalityLbEndpoints{
		Locality:            &corev3.Locality{Region: "south", Zone: "south-1"},
		LoadBalancingWeight: wrapperspb.UInt32(1),
	}
	for _, h := range hosts {
		locality.LbEndpoints = append(locality.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address: h, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 8080},
				}}},
			}},
		})
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{locality}}
}
