package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"            // for prototext
)

// The resources of west.example.
const (
	targetName  = "xdstp://west.example/envoy.config.listener.v3.Listener/shop"
	routesName  = "xdstp://west.example/envoy.config.route.v3.RouteConfiguration/shop"
	clusterName = "xdstp://west.example/envoy.config.cluster.v3.Cluster/"
	edsName     = "xdstp://west.example/envoy.config.endpoint.v3.ClusterLoadAssignment/"
)

// tokens is the limit of requests for the path /limited.
const tokens = 5

// setListener publishes the Listener of the server. Each version is a different Listener. The path /admin is only for
// root, and the path /limited has a few requests a day.
func (s *stage) setListener(version string) error {
	at, err := netip.ParseAddrPort(s.addr)
	if err != nil {
		return err
	}
	const limit = `stat_prefix: "limit" filter_enabled { default_value { numerator: 100 } } filter_enforced { default_value { numerator: 100 } }`
	return s.east.SetText(s.listener, new(listenerv3.Listener), `name: %q address { socket_address { address: %q port_value: %d } }
		filter_chains { name: "web" filters { name: "hcm" typed_config {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				stat_prefix: %q
				http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] {
					rules { action: DENY policies { key: "admin" value {
						permissions { url_path { path { prefix: "/admin" } } }
						principals { not_id { header { name: "x-user" string_match { exact: "root" } } } } } } } } } }
				http_filters { name: "limit" typed_config { [type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit] { stat_prefix: "none" } } }
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
				route_config { name: "web" virtual_hosts { name: "web" domains: "*"
					routes { match { prefix: "/moved" } redirect { prefix_rewrite: "/new" } }
					routes { name: "limited" match { path: "/limited" } route { cluster: "shop" }
						typed_per_filter_config { key: "limit" value { [type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit] {
							token_bucket { max_tokens: %d fill_interval { seconds: 86400 } } %s } } } }
					routes { match { prefix: "/" } route { cluster: "shop" } } } } } } } }`,
		s.listener, at.Addr(), at.Port(), version, tokens, limit)
}

// The routes of west.example.
const (
	// retries covers failed connections and the code unavailable.
	retries = `retry_policy { retry_on: "connect-failure,reset,unavailable" num_retries { value: 5 } retry_back_off { base_interval { nanos: 1000000 } } }`
	// rewrites shows the backends the path /new for /old.
	rewrites = `routes { match { prefix: "/old" } route { cluster: "` + clusterName + `stable" prefix_rewrite: "/new" } response_headers_to_add { header { key: "x-rewritten" value: "yes" } } }`
	greeting = `routes { match { prefix: "/shop.Greeter/" } route { cluster: "` + clusterName + `greeter" ` + retries + ` } }`
	all      = `routes { match { prefix: "/" } route { cluster: "` + clusterName + `stable" ` + retries + ` } }`
)

// splitRoutes sends a fifth of the requests of /split to the canary.
func (*stage) splitRoutes() string {
	return fmt.Sprintf(`routes { match { prefix: "/split" } route { weighted_clusters {
		clusters { name: %q weight { value: 80 } } clusters { name: %q weight { value: 20 } } } } }`, clusterName+"stable", clusterName+"canary")
}

// setRoutes publishes the target of the proxy's client. Its first routes are the given ones.
func (s *stage) setRoutes(first string) error {
	return errors.Join(
		s.west.SetText(routesName, new(routev3.RouteConfiguration), `name: %q virtual_hosts { name: "shop" domains: "shop" %s %s %s %s }`,
			routesName, first, rewrites, greeting, all),
		s.west.SetText(targetName, new(listenerv3.Listener), `name: %q api_listener { api_listener {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				rds { config_source { ads {} } route_config_name: %q }
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`,
			targetName, routesName))
}

// setClusters publishes the clusters.
func (s *stage) setClusters() error {
	return errors.Join(s.setCluster("stable", s.stable, s.standby), s.setCluster("canary", s.canary), s.setCluster("greeter", s.greeter))
}

// setCluster publishes a cluster with a priority for each backend.
func (s *stage) setCluster(name string, backends ...*backend) error {
	var localities strings.Builder
	for priority, b := range backends {
		host, port, err := net.SplitHostPort(b.addr)
		if err != nil {
			return err
		}
		fmt.Fprintf(&localities, `endpoints { priority: %d locality { zone: %q } load_balancing_weight { value: 1 }
			lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } } `, priority, b.name, host, port)
	}
	return errors.Join(
		s.west.SetText(edsName+name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q %s`, edsName+name, localities.String()),
		s.west.SetText(clusterName+name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { service_name: %q eds_config { ads {} } }
			circuit_breakers { thresholds { max_retries { value: 100 } } }`, // Envoy's default of 3 refuses a retry if four requests fail at once
			clusterName+name, edsName+name))
}
