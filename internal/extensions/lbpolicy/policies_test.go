package lbpolicy_test

import (
	"encoding/json"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
	"github.com/xdsforge/xdsforge/registry"
)

// TestPolicies has a configuration of each message, and the resulting LB policy or the violations.
func TestPolicies(t *testing.T) {
	reg := registry.New()
	lbpolicy.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: types}
	const roundRobin = `{ policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin] {} } } } }`
	const ringHash = `{ policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash] { hash_function: XX_HASH } } } } }`
	const localities = `{ policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality] { endpoint_picking_policy ` + roundRobin + ` } } } } }`
	for _, tt := range []struct {
		message, text string
		want          string   // the configuration
		violations    []string // or a part of the violations
	}{
		{"round_robin.v3.RoundRobin", ``, `[{"round_robin":{}}]`, nil},
		{"pick_first.v3.PickFirst", ``, `[{"pick_first":{"shuffleAddressList":false}}]`, nil},
		{"pick_first.v3.PickFirst", `shuffle_address_list: true`, `[{"pick_first":{"shuffleAddressList":true}}]`, nil},

		{"ring_hash.v3.RingHash", `hash_function: XX_HASH`, `[{"ring_hash_experimental":{"maxRingSize":8388608,"minRingSize":1024}}]`, nil},
		{"ring_hash.v3.RingHash", `hash_function: XX_HASH minimum_ring_size { value: 1 } maximum_ring_size { value: 1 }`, `[{"ring_hash_experimental":{"maxRingSize":1,"minRingSize":1}}]`, nil},
		{"ring_hash.v3.RingHash", `hash_function: XX_HASH maximum_ring_size { value: 8388608 }`, `[{"ring_hash_experimental":{"maxRingSize":8388608,"minRingSize":1024}}]`, nil},
		{"ring_hash.v3.RingHash", `hash_function: XX_HASH maximum_ring_size { value: 8388609 }`, "", []string{"maximum_ring_size = 8388609; must be at most 8388608"}},
		{"ring_hash.v3.RingHash", `hash_function: XX_HASH minimum_ring_size { value: 0 }`, `[{"ring_hash_experimental":{"maxRingSize":8388608,"minRingSize":1024}}]`, nil},
		{"ring_hash.v3.RingHash", `hash_function: XX_HASH minimum_ring_size { value: 11 } maximum_ring_size { value: 10 }`, "", []string{"minimum_ring_size = 11; must not be above the maximum size"}},
		{"ring_hash.v3.RingHash", `hash_function: XX_HASH minimum_ring_size { value: 10 } maximum_ring_size { value: 10 }`, `[{"ring_hash_experimental":{"maxRingSize":10,"minRingSize":10}}]`, nil},
		{"ring_hash.v3.RingHash", `hash_function: MURMUR_HASH_2`, "", []string{"hash_function = MURMUR_HASH_2; must be XX_HASH"}},

		{"least_request.v3.LeastRequest", ``, `[{"least_request_experimental":{"choiceCount":2}}]`, nil},
		{"least_request.v3.LeastRequest", `choice_count { value: 2 }`, `[{"least_request_experimental":{"choiceCount":2}}]`, nil},
		{"least_request.v3.LeastRequest", `choice_count { value: 7 }`, `[{"least_request_experimental":{"choiceCount":7}}]`, nil},
		{"least_request.v3.LeastRequest", `choice_count { value: 1 }`, "", []string{"choice_count = 1; must be at least 2"}},

		{"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", ``, `[{"weighted_round_robin":{}}]`, nil},
		{
			"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
			`enable_oob_load_report { value: true } oob_reporting_period { seconds: 1 } blackout_period {} weight_expiration_period { seconds: 180 } weight_update_period { nanos: 100000000 } error_utilization_penalty { value: 0 }`,
			`[{"weighted_round_robin":{"enableOobLoadReport":true,"oobReportingPeriod":"1s","blackoutPeriod":"0s","weightExpirationPeriod":"180s","weightUpdatePeriod":"0.100s","errorUtilizationPenalty":0}}]`, nil,
		},
		{
			"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
			`metric_names_for_computing_utilization: ["named_metrics.foo.bar", "mem_utilization"]`,
			`[{"weighted_round_robin":{"metricNamesForComputingUtilization":["named_metrics.foo.bar","mem_utilization"]}}]`, nil,
		},
		{
			"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
			`slow_start_config { slow_start_window { seconds: 60 } aggression { default_value: 1.5 } min_weight_percent { value: 0 } }`,
			`[{"weighted_round_robin":{"slowStartConfig":{"slowStartWindow":"60s","aggression":1.5,"minWeightPercent":0}}}]`, nil,
		},
		{
			"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", `slow_start_config { slow_start_window { nanos: 1 } }`,
			`[{"weighted_round_robin":{"slowStartConfig":{"slowStartWindow":"0.000000001s"}}}]`, nil,
		},
		{
			"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
			`slow_start_config { aggression { } min_weight_percent { value: 100.5 } }`, "",
			[]string{
				"slow_start_config.slow_start_window = 0s; must be above 0s", "slow_start_config.aggression = 0; must be a number above 0",
				"slow_start_config.min_weight_percent = 100.5; must be from 0 to 100",
			},
		},
		{
			"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
			`slow_start_config { slow_start_window { seconds: -1 } aggression { default_value: nan } min_weight_percent { value: nan } }`, "",
			[]string{"slow_start_window = -1s", "aggression = NaN", "min_weight_percent = NaN"},
		},
		{"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", `weight_update_period { nanos: 99999999 }`, `[{"weighted_round_robin":{"weightUpdatePeriod":"0.100s"}}]`, nil},
		{"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", `weight_update_period { nanos: 100000001 }`, `[{"weighted_round_robin":{"weightUpdatePeriod":"0.100000001s"}}]`, nil},
		{
			"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
			`oob_reporting_period { nanos: -1 } blackout_period { seconds: -1 } weight_expiration_period { seconds: -1 } weight_update_period { seconds: -1 } error_utilization_penalty { value: -0.5 }`, "",
			[]string{"oob_reporting_period = -1ns; must be at least 0s", "blackout_period = -1s;", "weight_expiration_period = -1s;", "weight_update_period = -1s;", "error_utilization_penalty = -0.5; must be at least 0"},
		},

		{"wrr_locality.v3.WrrLocality", `endpoint_picking_policy ` + roundRobin, `[{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}]`, nil},
		{"wrr_locality.v3.WrrLocality", ``, "", []string{"endpoint_picking_policy"}},
		{"random_subsetting.v3.RandomSubsetting", `subset_size { value: 1 } child_policy ` + roundRobin, `[{"random_subsetting_experimental":{"childPolicy":[{"round_robin":{}}],"subsetSize":1}}]`, nil},
		{"random_subsetting.v3.RandomSubsetting", `subset_size { value: 2 } child_policy ` + ringHash, `[{"random_subsetting_experimental":{"childPolicy":[{"ring_hash_experimental":{"maxRingSize":8388608,"minRingSize":1024}}],"subsetSize":2}}]`, nil},
		{"random_subsetting.v3.RandomSubsetting", `subset_size { value: 2 } child_policy ` + localities, `[{"random_subsetting_experimental":{"childPolicy":[{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}],"subsetSize":2}}]`, nil},
		{"random_subsetting.v3.RandomSubsetting", `subset_size { value: 3 }`, "", []string{"child_policy"}},
		{"random_subsetting.v3.RandomSubsetting", `child_policy ` + roundRobin, "", []string{"subset_size = 0; must be at least 1"}},
	} {
		const policies = "type.googleapis.com/envoy.extensions.load_balancing_policies."
		m := new(clusterv3.LoadBalancingPolicy)
		if err := prototext.Unmarshal([]byte(`policies { typed_extension_config { typed_config { [`+policies+tt.message+`] { `+tt.text+` } } } }`), m); err != nil {
			t.Fatalf("%s { %s }: %v", tt.message, tt.text, err)
		}
		lb, err := dc.LBPolicy(encode(t, m))
		if (err == nil) != (tt.violations == nil) {
			t.Errorf("%s { %s }: error %v, want %q", tt.message, tt.text, err, tt.violations)
			continue
		}
		for _, want := range tt.violations {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s { %s }: %v\nwant %q in it", tt.message, tt.text, err, want)
			}
		}
		if err != nil {
			continue
		}
		if text, err := json.Marshal(lb); err != nil || string(text) != tt.want {
			t.Errorf("%s { %s } becomes %s, %v\nwant %s", tt.message, tt.text, text, err, tt.want)
		}
	}
}

// TestMalformedPolicies expects every policy to reject malformed bytes.
func TestMalformedPolicies(t *testing.T) {
	reg := registry.New()
	lbpolicy.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: types}
	for _, message := range []string{
		"round_robin.v3.RoundRobin", "pick_first.v3.PickFirst", "ring_hash.v3.RingHash", "least_request.v3.LeastRequest",
		"client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", "wrr_locality.v3.WrrLocality", "random_subsetting.v3.RandomSubsetting",
	} {
		m := new(clusterv3.LoadBalancingPolicy)
		if err := prototext.Unmarshal([]byte(`policies { typed_extension_config { typed_config {
			type_url: "type.googleapis.com/envoy.extensions.load_balancing_policies.`+message+`" value: "\xff" } } }`), m); err != nil {
			t.Fatal(err)
		}
		if lb, err := dc.LBPolicy(encode(t, m)); err == nil {
			t.Errorf("%s without a readable message becomes %+v", message, lb)
		}
	}
}
