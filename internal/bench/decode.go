package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"                   // for the text of messages
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"  // likewise
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3" // likewise
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"                // likewise
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

func assignmentOf100() proto.Message {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: "service"}
	for i := range 10 {
		one := newAssignment(i, 8000)
		one.GetEndpoints()[0].Locality.Zone = fmt.Sprintf("zone-%d", i)
		a.Endpoints = append(a.Endpoints, one.GetEndpoints()...)
	}
	return a
}

// richRoutes returns 50 virtual hosts of 5 routes with a fraction, a retry policy and two weighted clusters.
func richRoutes() (proto.Message, error) {
	var hosts strings.Builder
	for i := range 50 {
		fmt.Fprintf(&hosts, "virtual_hosts { name: 'host-%d' domains: 'host-%[1]d.example.com' ", i)
		for j := range 5 {
			fmt.Fprintf(&hosts, `routes {
				match { prefix: "/service-%[2]d/" runtime_fraction { default_value { numerator: 50 } runtime_key: "key" } }
				route {
					weighted_clusters { clusters { name: "a-%[1]d-%[2]d" weight { value: 30 } } clusters { name: "b-%[1]d-%[2]d" weight { value: 70 } } }
					retry_policy { retry_on: "unavailable,cancelled" num_retries { value: 3 } retry_back_off { base_interval { nanos: 50000000 } max_interval { seconds: 1 } } }
					max_stream_duration { max_stream_duration { seconds: 30 } } } } `, i, j)
		}
		hosts.WriteString("} ")
	}
	rc := new(routev3.RouteConfiguration)
	return rc, controlplane.Parse(rc, "name: 'routes' %s", hosts.String())
}

// messages are those that are decoded.
func messages() (tls, routes, api proto.Message, err error) {
	const types = "type.googleapis.com/envoy."
	c := newCluster(1, 100)
	extra, rc, l := new(clusterv3.Cluster), new(routev3.RouteConfiguration), new(listenerv3.Listener)
	var hosts strings.Builder
	for i := range 50 {
		fmt.Fprintf(&hosts, "virtual_hosts { name: 'host-%d' domains: 'host-%[1]d.example.com' ", i)
		for j := range 4 {
			fmt.Fprintf(&hosts, `routes { match { prefix: "/service-%[2]d/" headers { name: "x-tier" string_match { exact: "gold" } } }
				route { cluster: "cluster-%[1]d-%[2]d" } } `, i, j)
		}
		fmt.Fprintf(&hosts, "routes { match { safe_regex { regex: '/api/v[0-9]+/.*' } } route { cluster: 'cluster-%d-4' } } } ", i)
	}
	err = errors.Join(
		controlplane.Parse(extra, `
			load_balancing_policy { policies { typed_extension_config { name: "wrr_locality" typed_config {
				[%[1]sextensions.load_balancing_policies.wrr_locality.v3.WrrLocality] {
					endpoint_picking_policy { policies { typed_extension_config { name: "round_robin" typed_config {
						[%[1]sextensions.load_balancing_policies.round_robin.v3.RoundRobin] {} } } } } } } } } }
			transport_socket { name: "tls" typed_config { [%[1]sextensions.transport_sockets.tls.v3.UpstreamTlsContext] { common_tls_context {
				combined_validation_context { default_validation_context {
					ca_certificate_provider_instance { instance_name: "certs" }
					match_subject_alt_names { exact: "spiffe://example/service" } } } } } } }`, types),
		controlplane.Parse(rc, `name: "routes" %s`, hosts.String()),
		controlplane.Parse(l, `name: "listener" api_listener { api_listener {
			[%[1]sextensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				rds { route_config_name: "routes" config_source { ads {} } }
				http_filters { name: "fault" typed_config { [%[1]sextensions.filters.http.fault.v3.HTTPFault] { max_active_faults { value: 10 } } } }
				http_filters { name: "router" typed_config { [%[1]sextensions.filters.http.router.v3.Router] {} } } } } }`, types),
	)
	proto.Merge(c, extra)
	return c, rc, l, err
}

// decodeRows are decoding and validation beside proto.Unmarshal alone, that of nested
// messages included.
func decodeRows(context.Context) (rows []Row, err error) {
	set, err := standardTypes()
	if err != nil {
		return nil, err
	}
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "x", "channel_creds": [{"type": "insecure"}]}],
		"certificate_providers": {"certs": {"plugin_name": "file_watcher", "config": {"certificate_file": "c", "private_key_file": "k", "ca_certificate_file": "a", "refresh_interval": "60s"}}}}`))
	if err != nil {
		return nil, err
	}
	tls, routes, api, err := messages()
	if err != nil {
		return nil, err
	}
	rich, err := richRoutes()
	if err != nil {
		return nil, err
	}
	for _, d := range []struct {
		name    string
		typ     resource.Type
		message proto.Message
		bound   float64
		allocs  float64
	}{
		{"an assignment of 100 endpoints", endpoint.Type(), assignmentOf100(), 0.25, 20},
		{"a cluster with wrr_locality and TLS", cluster.Type(), tls, 0.5, 30},
		{"50 virtual hosts of 5 routes", route.Type(), routes, 0.7, 2500},
		{"50 virtual hosts of 5 rich routes", route.Type(), rich, 0.7, 5000},
		{"an API listener, fault and router", listener.Type(), api, 0.45, 20},
	} {
		body, err := proto.Marshal(d.message)
		if err != nil {
			return nil, err
		}
		name, err := xdstp.Parse("name")
		if err != nil {
			return nil, err
		}
		dc := resource.DecodeContext{Name: name, Types: set, Bootstrap: config, Server: config.Servers()[0]}
		decode := plugincase.Decoder(d.typ, dc, body)
		if err := decode(); err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		unmarshal, err := plugincase.Unmarshal(d.message)
		if err != nil {
			return nil, err
		}
		mine, peer, err := compare(decode, unmarshal)
		if err != nil {
			return nil, err
		}
		allocs := testing.AllocsPerRun(100, func() { _ = decode() }) // it did not fail before
		rows = append(
			rows,
			Row{Name: "decode " + d.name, Unit: "us", Ours: microseconds(mine), Peer: microseconds(peer), Beside: "Unmarshal", Bound: d.bound},
			Row{Name: "  its allocations", Unit: "", Ours: allocs, Bound: d.allocs},
		)
	}
	return rows, nil
}
