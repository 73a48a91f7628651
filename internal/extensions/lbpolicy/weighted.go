package lbpolicy

import (
	"time"

	wrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// weightedConfig is the configuration of weighted_round_robin (A58). Fields that are not
// set have the default of the policy.
type weightedConfig struct {
	EnableOOBLoadReport     bool             `json:"enableOobLoadReport,omitempty"`
	OOBReportingPeriod      duration         `json:"oobReportingPeriod,omitzero"`
	BlackoutPeriod          duration         `json:"blackoutPeriod,omitzero"`
	WeightExpirationPeriod  duration         `json:"weightExpirationPeriod,omitzero"`
	WeightUpdatePeriod      duration         `json:"weightUpdatePeriod,omitzero"`
	ErrorUtilizationPenalty *float32         `json:"errorUtilizationPenalty,omitempty"`
	MetricNames             []string         `json:"metricNamesForComputingUtilization,omitempty"`
	SlowStart               *slowStartConfig `json:"slowStartConfig,omitempty"`
}

func weightedRoundRobin() *resource.LBPolicy {
	return policy(&wrrv3.ClientSideWeightedRoundRobin{}, func(m *wrrv3.ClientSideWeightedRoundRobin) (resource.LBConfig, error) {
		var v resource.Violations
		read := func(field string, d *durationpb.Duration) duration {
			p := (*resource.Path)(nil).Field(field)
			if x := convert.Duration(p, d, &v); x < 0 {
				v.Add(p, x, "must be at least 0s (A58)")
			}
			return duration{d}
		}
		c := weightedConfig{
			EnableOOBLoadReport:    m.GetEnableOobLoadReport().GetValue(),
			OOBReportingPeriod:     read("oob_reporting_period", m.GetOobReportingPeriod()),
			BlackoutPeriod:         read("blackout_period", m.GetBlackoutPeriod()),
			WeightExpirationPeriod: read("weight_expiration_period", m.GetWeightExpirationPeriod()),
			WeightUpdatePeriod:     read("weight_update_period", m.GetWeightUpdatePeriod()),
			MetricNames:            m.GetMetricNamesForComputingUtilization(),
			SlowStart:              slowStart(m.GetSlowStartConfig(), &v),
		}
		if p := m.GetErrorUtilizationPenalty(); p != nil {
			c.ErrorUtilizationPenalty = &p.Value
			if p.GetValue() < 0 {
				v.Add((*resource.Path)(nil).Field("error_utilization_penalty"), p.GetValue(), "must be at least 0 (A58)")
			}
		}
		if c.WeightUpdatePeriod.IsZero() || m.GetWeightUpdatePeriod().AsDuration() >= ShortestUpdate {
			return finish(&v, c)
		}
		c.WeightUpdatePeriod = duration{durationpb.New(ShortestUpdate)}
		return finish(&v, c)
	})
}

// ShortestUpdate is the minimum update period; shorter periods are raised to it (A58).
const ShortestUpdate = 100 * time.Millisecond

func finish(v *resource.Violations, c weightedConfig) (resource.LBConfig, error) {
	if err := v.Err(); err != nil {
		return resource.LBConfig{}, err
	}
	return resource.NewLBConfig(WeightedRoundRobin, c)
}

// A duration is in protobuf's JSON form: "1.500s".
type duration struct{ *durationpb.Duration }

// IsZero omits durations that are not set.
func (d duration) IsZero() bool { return d.Duration == nil }

// MarshalJSON encodes the duration.
func (d duration) MarshalJSON() ([]byte, error) { return protojson.Marshal(d.Duration) }
