package main

import (
	"net/netip"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The names of the demo's resources.
const (
	target     = "xds:///shop"
	shopHost   = "shop"
	shopRoutes = "shop-routes"
)

// A service is a cluster as an operator thinks of it.
type service struct {
	name     string
	weight   uint32 // in the route
	drop     uint32 // of a hundred requests
	category string // of the drops
	places   []place
}

// A place is a locality.
type place struct {
	zone     string
	priority uint32
	weight   uint32
	hosts    []host
}

// A host is an endpoint: one of the demo's servers, by its name.
type host struct {
	server string
	weight uint32
	health corev3.HealthStatus
}

const (
	healthy   = corev3.HealthStatus_HEALTHY
	unhealthy = corev3.HealthStatus_UNHEALTHY
	draining  = corev3.HealthStatus_DRAINING
)

// shares says which part of all requests each server should get, and each category of
// drops; this is what is measured against.
func shares(services []service) map[string]float64 {
	out := make(map[string]float64)
	routed := sum(services, func(s service) uint32 { return s.weight })
	for _, s := range services {
		part := float64(s.weight) / routed
		if s.drop > 0 {
			out[dropsOf(s.category)] += part * float64(s.drop) / 100
		}
		part *= 1 - float64(s.drop)/100
		used := usable(s.places)
		weights := sum(used, func(p place) uint32 { return p.weight })
		for _, p := range used {
			all := sum(p.hosts, host.effective)
			for _, h := range p.hosts {
				out[h.server] += part * float64(p.weight) / weights * float64(h.effective()) / all
			}
		}
	}
	return out
}

func dropsOf(category string) string { return "dropped: " + category }

// effective is the weight of a host that is used, and 0 otherwise.
func (h host) effective() uint32 {
	if h.health != healthy {
		return 0
	}
	return h.weight
}

// usable are the places of the highest priority that has a healthy host.
func usable(places []place) (used []place) {
	for priority := uint32(0); len(used) == 0 && priority < 2; priority++ {
		for _, p := range places {
			if p.priority == priority && sum(p.hosts, host.effective) > 0 {
				used = append(used, p)
			}
		}
	}
	return used
}

func sum[T any](list []T, weight func(T) uint32) (total float64) {
	for _, x := range list {
		total += float64(weight(x))
	}
	return total
}

// resources are what a control plane has of the services, by name.
func resources(services []service, addresses map[string]netip.AddrPort) (map[string]proto.Message, error) {
	router, err := anypb.New(new(routerv3.Router))
	if err != nil {
		return nil, err
	}
	manager, err := anypb.New(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: shopRoutes, ConfigSource: self()}},
		HttpFilters:    []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: router}}},
	})
	if err != nil {
		return nil, err
	}
	weighted := &routev3.WeightedCluster{}
	out := map[string]proto.Message{
		shopHost: &listenerv3.Listener{Name: shopHost, ApiListener: &listenerv3.ApiListener{ApiListener: manager}},
		shopRoutes: &routev3.RouteConfiguration{Name: shopRoutes, VirtualHosts: []*routev3.VirtualHost{{
			Name: shopHost, Domains: []string{shopHost},
			Routes: []*routev3.Route{{
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
				Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted}}},
			}},
		}}},
	}
	for _, s := range services {
		weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{Name: s.name, Weight: wrapperspb.UInt32(s.weight)})
		out[s.name] = &clusterv3.Cluster{
			Name:                     s.name,
			ClusterDiscoveryType:     &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig:         &clusterv3.Cluster_EdsClusterConfig{EdsConfig: self(), ServiceName: endpointsOf(s.name)},
			LrsServer:                self(),
			LrsReportEndpointMetrics: []string{"cpu_utilization", "named_metrics.answers"},
		}
		out[endpointsOf(s.name)] = assignment(s, addresses)
	}
	return out, nil
}

func endpointsOf(cluster string) string { return cluster + "-endpoints" }

func assignment(s service, addresses map[string]netip.AddrPort) *endpointv3.ClusterLoadAssignment {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: endpointsOf(s.name)}
	if s.drop > 0 {
		a.Policy = &endpointv3.ClusterLoadAssignment_Policy{DropOverloads: []*endpointv3.ClusterLoadAssignment_Policy_DropOverload{{
			Category: s.category, DropPercentage: &typev3.FractionalPercent{Numerator: s.drop},
		}}}
	}
	for _, p := range s.places {
		l := &endpointv3.LocalityLbEndpoints{
			Locality: &corev3.Locality{Zone: p.zone}, Priority: p.priority, LoadBalancingWeight: wrapperspb.UInt32(p.weight),
		}
		for _, h := range p.hosts {
			at := addresses[h.server]
			l.LbEndpoints = append(l.LbEndpoints, &endpointv3.LbEndpoint{
				HealthStatus: h.health, LoadBalancingWeight: wrapperspb.UInt32(h.weight),
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
					Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
						Address: at.Addr().String(), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(at.Port())},
					}}},
				}},
			})
		}
		a.Endpoints = append(a.Endpoints, l)
	}
	return a
}

// self says that a resource is found, or load reported, where the one that says so came
// from.
func self() *corev3.ConfigSource {
	return &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}}
}
