package lbpolicy_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
	"github.com/xdsforge/xdsforge/registry"
)

// TestNamedPolicies covers the policies that a TypedStruct names by gRPC's names (A52).
func TestNamedPolicies(t *testing.T) {
	reg := registry.New()
	lbpolicy.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: types}
	for _, tt := range []struct {
		policy    string
		config    map[string]any
		violation string // a part of the error; empty if the policy is valid
	}{
		{"round_robin", map[string]any{}, ""},
		{"round_robin", map[string]any{"load": math.NaN()}, "NaN"},
		{"pick_first", map[string]any{"shuffleAddressList": true}, ""},
		{"pick_first", map[string]any{"shuffleAddressList": "yes"}, "value"},

		{"least_request_experimental", map[string]any{}, ""},
		{"least_request_experimental", map[string]any{"choiceCount": 2}, ""},
		{"least_request_experimental", map[string]any{"choiceCount": 1}, "value.choiceCount = 1; must be at least 2 (A48)"},

		{"ring_hash_experimental", map[string]any{}, ""},
		{"ring_hash_experimental", map[string]any{"minRingSize": 1, "maxRingSize": 1}, ""},
		{"ring_hash_experimental", map[string]any{"minRingSize": 2, "maxRingSize": 1}, "value.minRingSize = 2; must not be above the maximum size"},
		{"ring_hash_experimental", map[string]any{"maxRingSize": 1023}, "value.minRingSize = 1024; must not be above the maximum size"},
		{"ring_hash_experimental", map[string]any{"maxRingSize": 1024}, ""},
		{"ring_hash_experimental", map[string]any{"minRingSize": 8388608}, ""},
		{"ring_hash_experimental", map[string]any{"minRingSize": 8388609}, "value.minRingSize = 8388609; must not be above the maximum size"},
		{"ring_hash_experimental", map[string]any{"maxRingSize": 8388609}, "value.maxRingSize = 8388609; must be at most 8388608"},
		{"ring_hash_experimental", map[string]any{"requestHashHeader": "X-Key"}, ""},
		{"ring_hash_experimental", map[string]any{"requestHashHeader": "x key"}, `value.requestHashHeader = "x key"; must be the name of a header that is not binary`},
		{"ring_hash_experimental", map[string]any{"requestHashHeader": "X-Key-Bin"}, `value.requestHashHeader = "X-Key-Bin"; must be the name of a header that is not binary`},

		{"weighted_round_robin", map[string]any{"blackoutPeriod": "1.5s", "errorUtilizationPenalty": 0}, ""},
		{"weighted_round_robin", map[string]any{"errorUtilizationPenalty": 0.5}, ""},
		{"weighted_round_robin", map[string]any{"slowStartConfig": map[string]any{"slowStartWindow": "9s"}}, ""},
		{
			"weighted_round_robin",
			map[string]any{"slowStartConfig": map[string]any{"slowStartWindow": "9s", "minWeightPercent": -1}},
			"value.slowStartConfig.minWeightPercent = -1; must be from 0 to 100 (A100)",
		},
		{"weighted_round_robin", map[string]any{"errorUtilizationPenalty": -0.5}, "value.errorUtilizationPenalty = -0.5; must be at least 0 (A58)"},
		{"weighted_round_robin", map[string]any{"weightUpdatePeriod": "soon"}, "value"},
	} {
		fields, err := structpb.NewStruct(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dc.LBPolicy(encode(t, list(t, &xdsv3.TypedStruct{TypeUrl: "type.googleapis.com/" + tt.policy, Value: fields})))
		switch {
		case tt.violation != "":
			if err == nil || !strings.Contains(err.Error(), tt.violation) {
				t.Errorf("%s %v: error %v\nwant %q in it", tt.policy, tt.config, err, tt.violation)
			}
		case err != nil:
			t.Errorf("%s %v: %v", tt.policy, tt.config, err)
		default:
			want, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != tt.policy || got.Config != string(want) {
				t.Errorf("%s %v becomes %s %s", tt.policy, tt.config, got.Name, got.Config)
			}
		}
	}
}

// TestSlowStart expects A100's defaults, and the factor of a weight to increase from its minimum to 1.
func TestSlowStart(t *testing.T) {
	var s *lbpolicy.SlowStart
	if got := s.Scale(0); got != 1 {
		t.Errorf("without slow start the factor is %v", got)
	}
	if err := json.Unmarshal([]byte(`{"slowStartWindow":"10s"}`), &s); err != nil || s.Aggression != 1 || s.MinPercent != 10 {
		t.Errorf("slow start = %+v, %v; want aggression 1 and 10 %%", s, err)
	}
	for ready, want := range map[time.Duration]float64{0: 0.1, time.Second: 0.1, 5 * time.Second: 0.5, 10 * time.Second: 1, time.Hour: 1} {
		if got := s.Scale(ready); got != want {
			t.Errorf("the factor after %v = %v, want %v", ready, got, want)
		}
	}
	steep := lbpolicy.SlowStart{Window: lbpolicy.Period(100 * time.Second), Aggression: 2}
	if got := steep.Scale(25 * time.Second); got != 0.5 {
		t.Errorf("the factor after a quarter of the window with the aggression 2 = %v, want its square root", got)
	}
	if got := (&lbpolicy.SlowStart{Window: lbpolicy.Period(time.Millisecond), Aggression: 1}).Scale(0); got != 1 {
		t.Errorf("the factor in a window of 1 ms = %v, want at most 1", got)
	}
}
