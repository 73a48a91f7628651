package cluster_test

import (
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

const (
	options = `typed_extension_protocol_options { key: "envoy.extensions.upstreams.http.v3.HttpProtocolOptions" value { value: `
	static  = `load_assignment { cluster_name: "x" endpoints { lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" port_value: 80 } } } } } }`
)

// TestHTTPSettings expects profile HTTP to read the protocol, the time limit of connections, and endpoints in the cluster.
// Profile gRPC reads none of them.
func TestHTTPSettings(t *testing.T) {
	for text, want := range map[string]cluster.HTTPSettings{
		`type: STATIC ` + static:                                    {ConnectTimeout: 5 * time.Second},
		`type: STATIC connect_timeout { nanos: 1 } ` + static:       {ConnectTimeout: 1},
		`type: STRICT_DNS connect_timeout { seconds: 2 } ` + static: {ConnectTimeout: 2 * time.Second},
		static + options + `"\032\002\012\000" } }`:                 {ConnectTimeout: 5 * time.Second, Version: cluster.HTTP1},
		static + options + `"\032\002\022\000" } }`:                 {ConnectTimeout: 5 * time.Second, Version: cluster.HTTP2},
		static + options + `"\042\000" } }`:                         {ConnectTimeout: 5 * time.Second},
		static + options + `"\052\000" } }`:                         {ConnectTimeout: 5 * time.Second, Version: cluster.HTTPAuto},
	} {
		u := plugincase.Read[*cluster.Update](t, cluster.Type(), new(clusterv3.Cluster), `name: "c" `+text, plugincase.Profile(resource.HTTP))
		want.Limits = cluster.HTTPLimits{Connections: 1024, Pending: 1024, Retries: 3}
		if u.HTTP == nil || *u.HTTP != want {
			t.Errorf("%s:\n%+v, want %+v", text, u.HTTP, want)
		}
		switch d := u.Discovery.(type) {
		case cluster.Static:
			if d.Endpoints == nil {
				t.Errorf("%s: no endpoints", text)
			}
		case cluster.StrictDNS:
			if d.Endpoints == nil || !strings.Contains(text, "DNS") {
				t.Errorf("%s: the endpoints are %v", text, d)
			}
		default:
			t.Errorf("%s: the cluster finds its endpoints by %T", text, d)
		}
	}
	u := plugincase.Read[*cluster.Update](t, cluster.Type(), new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } connect_timeout { seconds: 2 }`)
	if u.HTTP != nil {
		t.Errorf("profile gRPC reads %+v, want nothing", u.HTTP)
	}
}

// TestHTTPErrors expects the violations to name the fields that are not supported.
func TestHTTPErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`type: STATIC`, "load_assignment; must be set"},
		{`type: ORIGINAL_DST`, "must be one of STATIC, STRICT_DNS, LOGICAL_DNS, EDS"},
		{static + ` connect_timeout { nanos: -1 }`, "connect_timeout"},
		{static + ` connect_timeout {}`, "connect_timeout = 0s; must be above 0s"},
		{static + options + `"\012\001\377\042\000" } }`, "common_http_protocol_options"},
		{static + options + `"\032\002\032\000" } }`, "must choose HTTP/1 or HTTP/2"},
		{`lb_policy: MAGLEV ` + static, "lb_policy = MAGLEV; must be one of ROUND_ROBIN, RING_HASH, LEAST_REQUEST, RANDOM"},
	} {
		m := new(clusterv3.Cluster)
		if err := prototext.Unmarshal([]byte(`name: "c" `+test.text), m); err != nil {
			t.Fatal(err)
		}
		_, err := plugincase.Decode(t, cluster.Type(), m, plugincase.Profile(resource.HTTP))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\n%v, want %q", test.text, err, test.want)
		}
	}
	m := new(clusterv3.Cluster)
	if err := prototext.Unmarshal([]byte(`name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } lb_policy: RANDOM`), m); err != nil {
		t.Fatal(err)
	}
	if _, err := plugincase.Decode(t, cluster.Type(), m); err == nil || !strings.HasSuffix(err.Error(), "must be one of ROUND_ROBIN, RING_HASH, LEAST_REQUEST") {
		t.Errorf("profile gRPC with RANDOM: %v; want that it is rejected", err)
	}
}

// TestHTTPLimits expects profile HTTP to read the circuit breakers and the outlier detection that only HTTP clients have.
func TestHTTPLimits(t *testing.T) {
	defaults := cluster.HTTPLimits{Connections: 1024, Pending: 1024, Retries: 3}
	with := func(change func(*cluster.HTTPLimits)) cluster.HTTPLimits {
		l := defaults
		change(&l)
		return l
	}
	outlier := cluster.HTTPOutlier{FiveXX: 5, FiveXXChance: 100, Gateway: 5, Local: 5, LocalChance: 100, LocalSuccessRate: 100}
	breakers := func(text string) string {
		return `circuit_breakers { thresholds { priority: HIGH max_retries { value: 99 } } thresholds { ` + text + ` } }`
	}
	for text, want := range map[string]cluster.HTTPSettings{
		breakers(``): {Limits: defaults},
		breakers(`max_connections { value: 1 } max_pending_requests { value: 2 } max_retries { value: 4 }`): {Limits: with(func(l *cluster.HTTPLimits) {
			l.Connections, l.Pending, l.Retries = 1, 2, 4
		})},
		breakers(`retry_budget {}`): {Limits: with(func(l *cluster.HTTPLimits) { l.HasBudget, l.Budget, l.BudgetMin = true, 20, 3 })},
		breakers(`retry_budget { budget_percent { value: 1.5 } min_retry_concurrency { value: 7 } }`): {Limits: with(func(l *cluster.HTTPLimits) {
			l.HasBudget, l.Budget, l.BudgetMin = true, 1.5, 7
		})},
		`max_requests_per_connection { value: 5 }`: {Limits: with(func(l *cluster.HTTPLimits) { l.PerConnection = 5 })},
		`common_http_protocol_options { max_requests_per_connection { value: 6 } } max_requests_per_connection { value: 5 }`: {Limits: with(func(l *cluster.HTTPLimits) {
			l.PerConnection = 6
		})},
		options + `"\012\004\062\002\010\007\042\000" } } max_requests_per_connection { value: 5 }`: {Limits: with(func(l *cluster.HTTPLimits) {
			l.PerConnection = 7
		})},
		`outlier_detection {}`: {Limits: defaults, Outlier: outlier},
		`outlier_detection { consecutive_5xx { value: 1 } enforcing_consecutive_5xx { value: 2 } consecutive_gateway_failure { value: 3 }
			enforcing_consecutive_gateway_failure { value: 4 } split_external_local_origin_errors: true consecutive_local_origin_failure { value: 6 }
			enforcing_consecutive_local_origin_failure { value: 7 } enforcing_local_origin_success_rate { value: 8 }
			enforcing_failure_percentage_local_origin { value: 9 } }`: {Limits: defaults, Outlier: cluster.HTTPOutlier{
			FiveXX: 1, FiveXXChance: 2, Gateway: 3, GatewayChance: 4, Split: true, Local: 6, LocalChance: 7, LocalSuccessRate: 8, LocalFailurePercentage: 9,
		}},
	} {
		u := plugincase.Read[*cluster.Update](t, cluster.Type(), new(clusterv3.Cluster), `name: "c" type: STATIC `+static+text, plugincase.Profile(resource.HTTP))
		want.ConnectTimeout = 5 * time.Second
		if u.HTTP == nil || *u.HTTP != want {
			t.Errorf("%s:\n%+v, want\n%+v", text, u.HTTP, want)
		}
	}
}
