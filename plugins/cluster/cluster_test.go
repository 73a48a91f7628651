package cluster_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/cncf/xds/go/udpa/type/v1" // for prototext
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3" // for prototext
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestCases(t *testing.T) {
	plugincase.Run(t, cluster.Type(), func() proto.Message { return new(clusterv3.Cluster) })
}

const eds = `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } `

// TestKit runs the conformance kit on a resource that sets every field.
func TestKit(t *testing.T) {
	plugincase.Kit(t, plugintest.Plugin{
		Type: cluster.Type(), NameField: "name",
		Message: func() proto.Message { return new(clusterv3.Cluster) },
	}, "testdata/full")
}

func decode(t *testing.T, text string, opts ...plugincase.Option) *cluster.Update {
	t.Helper()
	return plugincase.Read[*cluster.Update](t, cluster.Type(), new(clusterv3.Cluster), text, opts...)
}

func TestDiscovery(t *testing.T) {
	dns := `name: "c" type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints { endpoint { address { socket_address { address: "a.example" port_value: 80 } } } } } }`
	aggregate := `name: "c" cluster_type { typed_config { [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: "a" clusters: "b" } } }`
	for text, want := range map[string]cluster.Discovery{
		eds:       cluster.EDS{ServiceName: "c"},
		dns:       cluster.LogicalDNS{Target: "a.example:80"},
		aggregate: cluster.Aggregate{Clusters: []string{"a", "b"}},
	} {
		if diff := cmp.Diff(want, decode(t, text).Discovery); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestOutlierDetectionDefaults(t *testing.T) {
	want := &cluster.OutlierDetection{
		Interval: 10 * time.Second, BaseEjectionTime: 30 * time.Second, MaxEjectionTime: 300 * time.Second, MaxEjectionPercent: 10,
		SuccessRate:       cluster.SuccessRate{Enforcement: 100, StdevFactor: 1900, MinimumHosts: 5, RequestVolume: 100},
		FailurePercentage: cluster.FailurePercentage{Threshold: 85, MinimumHosts: 5, RequestVolume: 50},
	}
	if diff := cmp.Diff(want, decode(t, eds+`outlier_detection {}`).OutlierDetection); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := decode(t, eds).OutlierDetection; got != nil {
		t.Errorf("without outlier_detection: %+v", got)
	}
	if got := decode(t, eds+`outlier_detection { base_ejection_time { seconds: 400 } }`).OutlierDetection.MaxEjectionTime; got != 400*time.Second {
		t.Errorf("maximum ejection time = %v; must not be below the base", got)
	}
}

func TestLBPolicy(t *testing.T) {
	const custom = `load_balancing_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "type.googleapis.com/myorg.Lb" value { fields { key: "n" value { number_value: 2 } } } } } } }
		policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst] { shuffle_address_list: true } } } } }`
	const subset = `load_balancing_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.random_subsetting.v3.RandomSubsetting] { subset_size { value: 3 }
		child_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin] { } } } } } } } } } }`
	const weighted = `load_balancing_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin] {
		weight_update_period { nanos: 10000000 } error_utilization_penalty { } } } } } }`
	named := func(name, value string) string {
		return `load_balancing_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/udpa.type.v1.TypedStruct] { type_url: "type.googleapis.com/` + name + `" value { ` + value + ` } } } } }
			policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst] { } } } } }`
	}
	register := plugincase.Extend(func(r resource.Registrar) { r.Extend(&resource.LBPolicy{Config: "myorg.Lb"}) })
	for _, test := range []struct {
		name, text, want string
		opts             []plugincase.Option
	}{
		{"nothing said", "", `[{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}]`, nil},
		{"least request", "lb_policy: LEAST_REQUEST", `[{"xds_wrr_locality_experimental":{"childPolicy":[{"least_request_experimental":{"choiceCount":2}}]}}]`, nil},
		{"ring hash", "lb_policy: RING_HASH", `[{"ring_hash_experimental":{"maxRingSize":8388608,"minRingSize":1024}}]`, nil},
		{"a ring of a fixed size", "lb_policy: RING_HASH ring_hash_lb_config { minimum_ring_size { value: 10 } maximum_ring_size { value: 10 } }", `[{"ring_hash_experimental":{"maxRingSize":10,"minRingSize":10}}]`, nil},
		{"a policy of somebody's own that is registered", custom, `[{"myorg.Lb":{"n":2}}]`, []plugincase.Option{register}},
		{"and one that is not", custom, `[{"pick_first":{"shuffleAddressList":true}}]`, nil},
		{"subsetting", subset, `[{"random_subsetting_experimental":{"childPolicy":[{"round_robin":{}}],"subsetSize":3}}]`, nil},
		{"weighted round robin", weighted, `[{"weighted_round_robin":{"weightUpdatePeriod":"0.100s","errorUtilizationPenalty":0}}]`, nil},
		{"round robin by its name", named("round_robin", ""), `[{"round_robin":{}}]`, nil},
		{"weighted round robin by its name", named("weighted_round_robin", `fields { key: "blackoutPeriod" value { string_value: "1.500s" } }`), `[{"weighted_round_robin":{"blackoutPeriod":"1.500s"}}]`, nil},
		{"a ring by its name", named("ring_hash_experimental", `fields { key: "minRingSize" value { number_value: 0 } }`), `[{"ring_hash_experimental":{"minRingSize":0}}]`, nil},
		{"a message's name in a TypedStruct", named("envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin", `fields { key: "slow_start_config" value { string_value: "x" } }`), `[{"pick_first":{"shuffleAddressList":false}}]`, nil},
		{"a ring of at least 0 entries", "lb_policy: RING_HASH ring_hash_lb_config { minimum_ring_size { } }", `[{"ring_hash_experimental":{"maxRingSize":8388608,"minRingSize":1024}}]`, nil},
	} {
		got, err := json.Marshal(decode(t, eds+test.text, test.opts...).LBPolicy)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v\nwant %s", test.name, got, err, test.want)
		}
	}
}

func TestTLS(t *testing.T) {
	const socket = `[type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] { sni: "s" auto_host_sni: true
		common_tls_context { tls_certificate_provider_instance { instance_name: "identity" certificate_name: "i" } validation_context { ca_certificate_provider_instance { instance_name: "roots" certificate_name: "r" } } } }`
	want := &tlscontext.Client{
		Identity: tlscontext.Instance{Provider: "identity", Certificate: "i"}, Roots: tlscontext.Instance{Provider: "roots", Certificate: "r"},
		SNI: "s", AutoHostSNI: true,
	}
	direct := decode(t, eds+`transport_socket { typed_config { `+socket+` } }`)
	if diff := cmp.Diff(want, direct.TLS); diff != "" || direct.HTTPProxy {
		t.Errorf("TLS, through a proxy: %v (-want +got):\n%s", direct.HTTPProxy, diff)
	}
	proxied := decode(t, eds+`transport_socket { typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport] { transport_socket { typed_config { `+socket+` } } } } }`)
	if diff := cmp.Diff(want, proxied.TLS); diff != "" || !proxied.HTTPProxy {
		t.Errorf("TLS, through a proxy: %v (-want +got):\n%s", proxied.HTTPProxy, diff)
	}
	other := decode(t, `name: "c" type: EDS transport_socket { name: "x" typed_config { [type.googleapis.com/envoy.config.core.v3.Address] {} } }`, plugincase.Profile(resource.Envoy))
	if other.TLS != nil || other.TransportSocket != "envoy.config.core.v3.Address" {
		t.Errorf("an unknown socket in profile Envoy: %v, %q", other.TLS, other.TransportSocket)
	}
}

// A resource name has at most 255 bytes (A101).
func TestSNI(t *testing.T) {
	for _, length := range []int{255, 256} {
		m := new(clusterv3.Cluster)
		text := eds + `transport_socket { typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] {
			sni: "` + strings.Repeat("s", length) + `" common_tls_context { validation_context { system_root_certs { } } } } } }`
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		want := "ok"
		if length > 255 {
			want = `transport_socket.typed_config.sni = "` + strings.Repeat("s", 120) + `"…; must be at most 255 bytes long (A101)`
		}
		_, err := plugincase.Decode(t, cluster.Type(), m)
		if got := plugincase.Verdict(err); !slices.Equal(got, []string{want}) {
			t.Errorf("%d bytes: %q; want %q", length, got, want)
		}
	}
}

func TestOverrideHosts(t *testing.T) {
	for text, want := range map[string]cluster.HostStatuses{
		``:                    {Unknown: true, Healthy: true},
		`common_lb_config {}`: {Unknown: true, Healthy: true},
		`common_lb_config { override_host_status { } }`:                                         {},
		`common_lb_config { override_host_status { statuses: [DRAINING, DEGRADED, HEALTHY] } }`: {Healthy: true, Draining: true},
	} {
		if got := decode(t, eds+text).OverrideHosts; got != want {
			t.Errorf("%s: %+v; want %+v", text, got, want)
		}
	}
}

// The idle timeout is 1 h, unless the HttpProtocolOptions have another one (A75).
func TestIdleTimeout(t *testing.T) {
	options := func(text string) string {
		return eds + `upstream_config { typed_config { [type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions] { ` + text + ` } } }`
	}
	for text, want := range map[string]time.Duration{
		eds:         time.Hour,
		options(``): time.Hour,
		options(`common_http_protocol_options {}`):                                                    time.Hour,
		options(`common_http_protocol_options { max_headers_count { value: 3 } }`):                    time.Hour,
		options(`common_http_protocol_options { idle_timeout { seconds: 90 } }`):                      90 * time.Second,
		options(`common_http_protocol_options { idle_timeout { } }`):                                  0,
		options(`explicit_http_config {} common_http_protocol_options { idle_timeout { nanos: 5 } }`): 5,
	} {
		if got := decode(t, text).IdleTimeout; got != want {
			t.Errorf("%s: %v; want %v", text, got, want)
		}
	}
	for text, value := range map[string][]byte{"a cut field": {0x0a, 5}, "a cut timeout": {0x0a, 2, 0x0a, 9}} {
		m := new(clusterv3.Cluster)
		if err := prototext.Unmarshal([]byte(eds), m); err != nil {
			t.Fatal(err)
		}
		m.UpstreamConfig = &corev3.TypedExtensionConfig{TypedConfig: &anypb.Any{
			TypeUrl: "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions", Value: value,
		}}
		if u, err := plugincase.Decode(t, cluster.Type(), m); err == nil {
			t.Errorf("%s: %+v; want an error", text, u)
		}
	}
}

func TestReportsAndMetadata(t *testing.T) {
	u := decode(t, eds+`lrs_server { self {} } lrs_report_endpoint_metrics: "named_metrics.b" lrs_report_endpoint_metrics: "named_metrics.a" lrs_report_endpoint_metrics: "cpu_utilization" lrs_report_endpoint_metrics: "newer"
		metadata { filter_metadata { key: "com.google.csm.telemetry_labels" value { fields { key: "service_name" value { string_value: "s" } } fields { key: "service_namespace" value { bool_value: true } } } }
			filter_metadata { key: "proxy" value { } } typed_filter_metadata { key: "proxy" value { [type.googleapis.com/envoy.config.core.v3.Address] { socket_address { address: "10.0.0.1" port_value: 80 } } } }
			typed_filter_metadata { key: "unknown" value { [type.googleapis.com/envoy.config.cluster.v3.Cluster] {} } } }`)
	if diff := cmp.Diff(cluster.MetricPropagation{CPU: true, Named: []string{"a", "b"}}, u.ReportMetrics); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if got := u.Metadata["proxy"]; got.Message != "envoy.config.core.v3.Address" || got.Value != netip.MustParseAddrPort("10.0.0.1:80") || len(u.Metadata) != 2 {
		t.Errorf("metadata %+v", u.Metadata)
	}
	if u.TelemetryLabel("service_name") != "s" || u.TelemetryLabel("service_namespace") != "" {
		t.Errorf("labels %q, %q", u.TelemetryLabel("service_name"), u.TelemetryLabel("service_namespace"))
	}
	if u.LoadReports == nil || !u.LoadReports.Equal(u.Server()) {
		t.Errorf("LoadReports = %v; want the server that sent the cluster (A47)", u.LoadReports)
	}
	if all := decode(t, eds+`lrs_report_endpoint_metrics: "named_metrics.*" lrs_report_endpoint_metrics: "named_metrics.a"`).ReportMetrics; !all.AllNamed || all.Named != nil {
		t.Errorf("all named metrics: %+v", all)
	}
}
