package main

import (
	"net/netip"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3" // for prototext
)

// routesName is the name of the RouteConfiguration to which the Listener refers.
const routesName = "xdstp://west.example/envoy.config.route.v3.RouteConfiguration/shop"

// identity returns the SPIFFE ID of a certificate's owner.
func identity(who string) string { return "spiffe://shop.example/" + who }

// setListener publishes a Listener that requires mutual TLS, denies mallory, and refers to
// the routes. Each version is a different Listener.
func (s *stage) setListener(version string) error {
	at, err := netip.ParseAddrPort(s.addr)
	if err != nil {
		return err
	}
	return s.east.SetText(s.listener, new(listenerv3.Listener), `name: %q address { socket_address { address: %q port_value: %d } }
		filter_chains {
			transport_socket { name: "envoy.transport_sockets.tls" typed_config {
				[type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext] {
					require_client_certificate { value: true }
					common_tls_context {
						tls_certificate_provider_instance { instance_name: "files" }
						validation_context { ca_certificate_provider_instance { instance_name: "files" } } } } } }
			filters { name: "hcm" typed_config {
				[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
					stat_prefix: %q
					rds { route_config_name: %q config_source { ads {} } }
					http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] {
						rules { action: DENY policies { key: "mallory" value {
							permissions { any: true } principals { authenticated { principal_name { exact: %q } } } } } } } } }
					http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } } }`,
		s.listener, at.Addr(), at.Port(), version, routesName, identity("mallory"))
}

// setRoutes publishes routes that accept all calls.
func (s *stage) setRoutes() error {
	return s.west.SetText(routesName, new(routev3.RouteConfiguration), `name: %q virtual_hosts { name: "shop" domains: "*"
		routes { match { prefix: "/" } non_forwarding_action {} } }`, routesName)
}
