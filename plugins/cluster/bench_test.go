package cluster_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/cluster"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

const plain = `
	name: "checkout" type: EDS connect_timeout { seconds: 5 }
	eds_cluster_config { eds_config { ads {} resource_api_version: V3 } service_name: "checkout.default" }
	circuit_breakers { thresholds { max_requests { value: 100 } } }`

// secured is a cluster as a mesh configures it: with an LB policy and TLS.
const secured = plain + `
	load_balancing_policy { policies { typed_extension_config { name: "wrr_locality" typed_config {
		[type.googleapis.com/envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality] {
			endpoint_picking_policy { policies { typed_extension_config { name: "round_robin" typed_config {
				[type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin] {}
			} } } }
		}
	} } } }
	transport_socket { name: "tls" typed_config {
		[type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] {
			common_tls_context { combined_validation_context { default_validation_context {
				ca_certificate_provider_instance { instance_name: "roots" }
				match_subject_alt_names { exact: "spiffe://example/service" }
			} } }
		}
	} }`

func message(tb testing.TB, text string) proto.Message {
	tb.Helper()
	m := new(clusterv3.Cluster)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		tb.Fatal(err)
	}
	return m
}

func BenchmarkDecode(b *testing.B) {
	for name, text := range map[string]string{"plain": plain, "secured": secured} {
		b.Run(name, func(b *testing.B) { plugincase.Bench(b, cluster.Type(), message(b, text)) })
	}
}

// Decoding a cluster with an LB policy and TLS allocates at most 20 times.
func TestAllocations(t *testing.T) {
	dc := plugincase.Context(t)
	body, err := proto.Marshal(message(t, secured))
	if err != nil {
		t.Fatal(err)
	}
	decoded := testing.AllocsPerRun(100, func() {
		if _, err := plugincase.DecodeBytes(dc, cluster.Type(), body); err != nil {
			t.Fatal(err)
		}
	})
	if decoded > 20 {
		t.Errorf("decoding a cluster allocates %v times; want at most 20", decoded)
	}
}
