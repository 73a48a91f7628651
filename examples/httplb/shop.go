package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
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

// A phase is a configuration with a description of its change.
type phase struct {
	title   string
	weights string // of the clusters in the route
	// services has the text of each ClusterLoadAssignment by the name of its cluster. It names
	// servers as in ${near-1}.
	services map[string]string
	// shares has the expected share of all requests for each server and each drop category.
	shares map[string]float64
}

// phases returns the configurations in order.
func phases() []phase {
	const (
		far   = `lb_endpoints { load_balancing_weight { value: 1 } endpoint ${far-1} } lb_endpoints { load_balancing_weight { value: 1 } endpoint ${far-2} } }`
		spare = `endpoints { priority: 1 locality { zone: "spare" } load_balancing_weight { value: 1 } lb_endpoints { endpoint ${spare-1} } }`
		next  = `endpoints { locality { zone: "near" } load_balancing_weight { value: 1 } lb_endpoints { endpoint ${next-1} } lb_endpoints { endpoint ${next-2} } }`
	)
	return []phase{{
		"three quarters of the requests go near, by the servers' weights; the next release gets a fifth; a tenth of the current one's is dropped",
		`clusters { name: "current" weight { value: 80 } } clusters { name: "next" weight { value: 20 } }`,
		map[string]string{"next": next, "current": `policy { drop_overloads { category: "throttle" drop_percentage { numerator: 10 } } }
			endpoints { locality { zone: "near" } load_balancing_weight { value: 3 }
				lb_endpoints { load_balancing_weight { value: 1 } endpoint ${near-1} }
				lb_endpoints { load_balancing_weight { value: 3 } endpoint ${near-2} }
				lb_endpoints { load_balancing_weight { value: 9 } endpoint ${near-3} health_status: UNHEALTHY } }
			endpoints { locality { zone: "far" } load_balancing_weight { value: 1 } ` + far + spare},
		map[string]float64{
			"dropped: throttle": 0.08, "near-1": 0.135, "near-2": 0.405, "near-3": 0, "far-1": 0.09, "far-2": 0.09, "next-1": 0.1, "next-2": 0.1,
		},
	}, {
		"near-2 drains, near-3 has recovered, both localities weigh the same, nothing is dropped, the releases share",
		`clusters { name: "current" weight { value: 50 } } clusters { name: "next" weight { value: 50 } }`,
		map[string]string{"next": next, "current": `
			endpoints { locality { zone: "near" } load_balancing_weight { value: 3 }
				lb_endpoints { load_balancing_weight { value: 1 } endpoint ${near-1} }
				lb_endpoints { load_balancing_weight { value: 3 } endpoint ${near-2} health_status: DRAINING }
				lb_endpoints { load_balancing_weight { value: 9 } endpoint ${near-3} } }
			endpoints { locality { zone: "far" } load_balancing_weight { value: 3 } ` + far + spare},
		map[string]float64{"near-1": 0.025, "near-2": 0, "near-3": 0.225, "far-1": 0.125, "far-2": 0.125, "next-1": 0.25, "next-2": 0.25},
	}, {
		"near and far are down: the spare takes over; the next release is taken back",
		`clusters { name: "current" weight { value: 100 } }`,
		map[string]string{"current": `policy { drop_overloads { category: "shed" drop_percentage { numerator: 25 } } }
			endpoints { locality { zone: "near" } load_balancing_weight { value: 3 } lb_endpoints { endpoint ${near-1} health_status: UNHEALTHY } }
			endpoints { locality { zone: "far" } load_balancing_weight { value: 3 } lb_endpoints { endpoint ${far-1} health_status: UNHEALTHY } } ` + spare},
		map[string]float64{"dropped: shed": 0.25, "spare-1": 0.75},
	}}
}

// resources returns the resources of a phase by name. addresses has the "host:port" of the
// servers.
func (p phase) resources(addresses map[string]string) (map[string]proto.Message, error) {
	all := make(map[string]proto.Message)
	var errs []error
	add := func(name string, m proto.Message, format string, args ...any) {
		all[name] = m
		errs = append(errs, controlplane.Parse(m, format, args...))
	}
	endpoint := func(server string) string {
		host, port, err := net.SplitHostPort(addresses[server])
		errs = append(errs, err)
		return fmt.Sprintf("{ address { socket_address { address: %q port_value: %s } } }", host, port)
	}
	add(shopHost, new(listenerv3.Listener), `name: %q api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { route_config_name: "shop-routes" config_source { self {} } }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`, shopHost)
	add("shop-routes", new(routev3.RouteConfiguration), `name: "shop-routes" virtual_hosts { name: %q domains: %[1]q
		routes { match { prefix: "/" } route { weighted_clusters { %s } } } }`, shopHost, p.weights)
	for _, name := range slices.Sorted(maps.Keys(p.services)) {
		add(name, new(clusterv3.Cluster), `name: %q type: EDS lrs_server { self {} }
			eds_cluster_config { eds_config { self {} } service_name: "%[1]s-endpoints" }
			lrs_report_endpoint_metrics: ["cpu_utilization", "named_metrics.answers"]`, name)
		add(name+"-endpoints", new(endpointv3.ClusterLoadAssignment), `cluster_name: "%s-endpoints" %s`, name, os.Expand(p.services[name], endpoint))
	}
	return all, errors.Join(errs...)
}
