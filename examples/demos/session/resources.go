package main

import (
	"errors"
	"fmt"
	"net"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"  // for prototext
)

// publish publishes everything.
func (s *stage) publish() error {
	return errors.Join(
		s.plane.SetText("basket", new(listenerv3.Listener), `name: "basket" api_listener { api_listener {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				rds { config_source { ads {} } route_config_name: "routes" }
				http_filters { name: "session" typed_config { [type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession] {
					session_state { typed_config { [type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState] {
						cookie { name: "basket" } } } } } } }
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`),
		s.publishRoutes("shop"), s.publishCluster("shop"), s.publishShop("HEALTHY"),
		s.publishCluster("canary"), s.publishEndpoints("canary", s.endpoint("three", "HEALTHY")),
	)
}

// publishRoutes publishes a route to clusters of equal weight.
func (s *stage) publishRoutes(clusters ...string) error {
	var weighted strings.Builder
	for _, name := range clusters {
		fmt.Fprintf(&weighted, `clusters { name: %q weight { value: 1 } } `, name)
	}
	return s.plane.SetText("routes", new(routev3.RouteConfiguration), `name: "routes" virtual_hosts { domains: "basket"
		routes { match { prefix: "/" } route { weighted_clusters { %s } } } }`, weighted.String())
}

// publishCluster publishes a cluster whose sessions stay on endpoints that drain.
func (s *stage) publishCluster(name string) error {
	return s.plane.SetText(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } }
		common_lb_config { override_host_status { statuses: [UNKNOWN, HEALTHY, DRAINING] } }`, name)
}

// publishShop publishes the servers of the cluster shop. health is that of server one. It is empty to remove the server.
func (s *stage) publishShop(health string) error {
	if health == "" {
		return s.publishEndpoints("shop", s.endpoint("two", "HEALTHY"))
	}
	return s.publishEndpoints("shop", s.endpoint("one", health), s.endpoint("two", "HEALTHY"))
}

func (s *stage) publishEndpoints(name string, endpoints ...string) error {
	return s.plane.SetText(name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q
		endpoints { locality { zone: "z" } load_balancing_weight { value: 1 } %s }`, name, strings.Join(endpoints, " "))
}

func (s *stage) endpoint(name, health string) string {
	host, port, _ := net.SplitHostPort(s.servers[name].addr) // of a listener
	return fmt.Sprintf(`lb_endpoints { health_status: %s endpoint { address { socket_address { address: %q port_value: %s } } } }`, health, host, port)
}
