package main

import (
	"encoding/base64"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	gcpauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/gcp_authn/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// row returns a row with a message, and other fields as JSON.
func row(t *testing.T, m proto.Message, text, fields string) string {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	url := "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName())
	return `{"type_url": "` + url + `", "resource_b64": "` + base64.StdEncoding.EncodeToString(body) + `", ` + fields + `}`
}

func TestJudgeResource(t *testing.T) {
	good := func(fields string) string {
		return row(t, new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } }`, `"suite": "tests_unmarshal_cds", `+fields)
	}
	checkJudge(t, judge(judgeResource), []judgeRow{
		{"both find it valid", good(`"want_ok": true, "want_name": "c"`), nil},
		{"the name differs", good(`"want_ok": true, "want_name": "d"`), []string{`name: the peer returns "d", we return "c"`}},
		{"a peer rejects it", good(`"want_ok": false`), []string{"valid: the peer returns false, we return true"}},
		{"we reject it", row(t, new(clusterv3.Cluster), `name: "c"`, `"suite": "unmarshal_cds", "want_ok": true`), []string{"valid: the peer returns true, we return false: cluster_discovery_type; must be set"}},
		{"another type than was asked for", row(t, new(endpointv3.ClusterLoadAssignment), `cluster_name: "c"`, `"suite": "unmarshal_rds", "want_ok": false`), nil},
		{"no name", row(t, new(endpointv3.ClusterLoadAssignment), ``, `"suite": "unmarshal_eds", "want_ok": false`), nil},
	})
}

func TestJudgeFragments(t *testing.T) {
	const rr = `policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin] { } } } }`
	checkJudge(t, judge(judgePolicy), []judgeRow{
		{"agreed", row(t, new(clusterv3.LoadBalancingPolicy), rr, `"want_ok": true, "want_service_config": "[{\"round_robin\": {}}]"`), nil},
		{"another config", row(t, new(clusterv3.LoadBalancingPolicy), rr, `"want_ok": true, "want_service_config": "[{\"x\": {}}]"`), []string{"service config: "}},
		{"no policy", row(t, new(clusterv3.LoadBalancingPolicy), ``, `"want_ok": true`), []string{"valid: "}},
	})
	const roots = `validation_context { ca_certificate_provider_instance { instance_name: "r" } }`
	checkJudge(t, judge(judgeTLS), []judgeRow{
		{"a client", row(t, new(tlsv3.CommonTlsContext), roots, `"want_ok": true, "cert_provider_instances_used": ["r"]`), nil},
		{"a client without the provider", row(t, new(tlsv3.CommonTlsContext), roots, `"want_ok": true`), []string{"valid: "}},
		{"a server", row(t, new(tlsv3.CommonTlsContext), roots, `"want_ok": false, "server_side": true, "cert_provider_instances_used": ["r"]`), nil},
	})
	checkJudge(t, judge(judgeFilter), []judgeRow{
		{"a filter", row(t, new(gcpauthnv3.GcpAuthnFilterConfig), ``, `"want_ok": true, "filter": "gcpauthn"`), nil},
		{"a wrong filter", row(t, new(gcpauthnv3.GcpAuthnFilterConfig), `cache_config { cache_size { } }`, `"want_ok": true, "filter": "gcpauthn"`), []string{"valid: "}},
		{"a filter that is not there", row(t, new(clusterv3.Cluster), `name: "x"`, `"want_ok": true, "filter": "x"`), []string{"no filter x"}},
	})
}

func TestJudgeLookup(t *testing.T) {
	const chain = `name: "l" address { socket_address { address: "::" port_value: 1 } } filter_chains {
		filter_chain_match { prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } } }
		filters { name: "m" typed_config { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] { rds { config_source { ads { } } route_config_name: "r" }
			http_filters { name: "r" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] { } } } } } }
		transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext] { common_tls_context { tls_certificate_provider_instance { instance_name: "i" } } } } } }`
	lookup := func(fields string) string {
		return row(t, new(listenerv3.Listener), chain, `"suite": "filter_chain_manager", "cert_provider_instances_used": ["i"], `+fields)
	}
	checkJudge(t, judge(judgeLookup), []judgeRow{
		{"found", lookup(`"want_ok": true, "want_name": "i", "lookup": {"dst_addr": "10.1.1.1"}`), nil},
		{"another", lookup(`"want_ok": true, "want_name": "j", "lookup": {"dst_addr": "10.1.1.1"}`), []string{"identity: "}},
		{"none", lookup(`"want_ok": true, "lookup": {"dst_addr": "11.1.1.1"}`), []string{"valid: the peer returns true, we return false: no chain"}},
		{"an invalid listener", row(t, new(listenerv3.Listener), `name: "l"`, `"suite": "filter_chain_manager", "want_ok": true`), []string{"valid: "}},
	})
}

func TestJudgeMutations(t *testing.T) {
	cluster := row(t, new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } }`, `"suite": "unmarshal_cds", "want_ok": true`)
	checkJudge(t, judge(judgeMutations(100)), []judgeRow{{"a cluster bears it", cluster, nil}})
	if v, err := judge(judgeMutations(100))([]byte(`{"want_ok": false}`)); err != nil || !v.skip {
		t.Errorf("an invalid resource: %+v, %v; must be skipped", v, err)
	}
	if said := try(func([]byte) error { panic("ouch") }, nil); said != "panics: ouch" {
		t.Errorf("a decoder that panics: %q", said)
	}
}
