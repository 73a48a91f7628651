package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// The names of the demo's target and of its Listener. The Listener has the name of the
// host.
const (
	target   = "xds:///shop"
	shopHost = "shop"
)

// A service is a cluster from an operator's view.
type service struct {
	name     string
	weight   uint32 // in the route
	drop     uint32 // in percent
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

// A host is an endpoint: the name of one of the demo's servers.
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

// shares returns the expected share of all requests for each server and each drop category.
// The demo compares its measurements with it.
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

// effective returns the weight of a healthy host, and 0 for other hosts.
func (h host) effective() uint32 {
	if h.health != healthy {
		return 0
	}
	return h.weight
}

// usable returns the places of the highest priority that has a healthy host.
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

// resources returns the resources of the services, by name.
func resources(services []service, addresses map[string]netip.AddrPort) (map[string]proto.Message, error) {
	all := make(map[string]proto.Message)
	var errs []error
	add := func(name string, m proto.Message, format string, args ...any) {
		all[name] = m
		errs = append(errs, controlplane.Parse(m, format, args...))
	}
	add(shopHost, new(listenerv3.Listener), `name: %q api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { route_config_name: "shop-routes" config_source { self {} } }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`, shopHost)
	var weights strings.Builder
	for _, s := range services {
		fmt.Fprintf(&weights, "clusters { name: %q weight { value: %d } } ", s.name, s.weight)
		add(s.name, new(clusterv3.Cluster), `name: %q type: EDS lrs_server { self {} }
			eds_cluster_config { eds_config { self {} } service_name: "%[1]s-endpoints" }
			lrs_report_endpoint_metrics: ["cpu_utilization", "named_metrics.answers"]`, s.name)
		add(s.name+"-endpoints", new(endpointv3.ClusterLoadAssignment), `cluster_name: "%s-endpoints" %s`, s.name, assignment(s, addresses))
	}
	add("shop-routes", new(routev3.RouteConfiguration), `name: "shop-routes" virtual_hosts { name: %q domains: %[1]q
		routes { match { prefix: "/" } route { weighted_clusters { %s } } } }`, shopHost, weights.String())
	return all, errors.Join(errs...)
}

// assignment returns the drops and endpoints of a service as text.
func assignment(s service, addresses map[string]netip.AddrPort) string {
	var b strings.Builder
	if s.drop > 0 {
		fmt.Fprintf(&b, "policy { drop_overloads { category: %q drop_percentage { numerator: %d } } } ", s.category, s.drop)
	}
	for _, p := range s.places {
		fmt.Fprintf(&b, "endpoints { locality { zone: %q } priority: %d load_balancing_weight { value: %d } ", p.zone, p.priority, p.weight)
		for _, h := range p.hosts {
			at := addresses[h.server]
			fmt.Fprintf(&b, "lb_endpoints { health_status: %s load_balancing_weight { value: %d } endpoint { address { socket_address { address: %q port_value: %d } } } } ",
				h.health, h.weight, at.Addr(), at.Port())
		}
		b.WriteString("} ")
	}
	return b.String()
}
