package policy

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/experimental/stats"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
)

// A weightedConfig is the configuration of weighted_round_robin (A58, A100, A114).
type weightedConfig struct {
	OOB      bool                `json:"enableOobLoadReport"`
	Report   lbpolicy.Period     `json:"oobReportingPeriod"`
	Blackout lbpolicy.Period     `json:"blackoutPeriod"`
	Expire   lbpolicy.Period     `json:"weightExpirationPeriod"`
	Update   lbpolicy.Period     `json:"weightUpdatePeriod"`
	Penalty  float64             `json:"errorUtilizationPenalty"`
	Metrics  []string            `json:"metricNamesForComputingUtilization"`
	Slow     *lbpolicy.SlowStart `json:"slowStartConfig"` // nil: none
}

// parseWeighted returns a configuration with A58's defaults.
func parseWeighted(text string) (*weightedConfig, error) {
	c := &weightedConfig{
		Report: lbpolicy.Period(10 * time.Second), Blackout: lbpolicy.Period(10 * time.Second),
		Expire: lbpolicy.Period(3 * time.Minute), Update: lbpolicy.Period(time.Second), Penalty: 1,
	}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, fmt.Errorf("LB policy %s: %w", lbpolicy.WeightedRoundRobin, err)
	}
	if c.Penalty < 0 {
		return nil, fmt.Errorf("LB policy %s: errorUtilizationPenalty = %v; must be at least 0 (A58)", lbpolicy.WeightedRoundRobin, c.Penalty)
	}
	if c.Slow != nil {
		var v resource.Violations
		at := (*resource.Path)(nil).Field("slowStartConfig")
		c.Slow.Check(at.Field("slowStartWindow"), at.Field("aggression"), at.Field("minWeightPercent"), &v)
		if err := v.Err(); err != nil {
			return nil, fmt.Errorf("LB policy %s: %w", lbpolicy.WeightedRoundRobin, err)
		}
	}
	c.Update = max(c.Update, lbpolicy.Period(lbpolicy.ShortestUpdate))
	return c, nil
}

// weightedMetrics records the metrics of weighted_round_robin (A78). Package weightedroundrobin of
// grpc-go registers them.
type weightedMetrics struct {
	recorder stats.MetricsRecorder
	labels   []string
}

// metricsOf returns the metrics of a policy. The policy of one locality has its label (A78).
func metricsOf(env *lbtree.Env, localities []lbtree.Locality) weightedMetrics {
	m := weightedMetrics{labels: []string{env.Options.Target.String(), "", env.Cluster}}
	if len(localities) == 1 {
		m.labels[1] = labels.OfEndpoint(env.Cluster, localities[0].ID)[labels.Locality]
	}
	if env.Conn != nil {
		m.recorder = env.Conn.MetricsRecorder()
	}
	return m
}

func (m *weightedMetrics) count(name string) {
	if d := stats.DescriptorForMetric("grpc.lb.wrr." + name); d != nil && m.recorder != nil {
		(*stats.Int64CountHandle)(d).Record(m.recorder, 1, m.labels...)
	}
}

// fallback counts a schedule with equal weights.
func (m *weightedMetrics) fallback() { m.count("rr_fallback") }

// weight records a weight of a schedule.
func (m *weightedMetrics) weight(w float64, u usability) {
	switch u {
	case notYet:
		m.count("endpoint_weight_not_yet_usable")
	case stale:
		m.count("endpoint_weight_stale")
	default:
	}
	if d := stats.DescriptorForMetric("grpc.lb.wrr.endpoint_weights"); d != nil && m.recorder != nil {
		(*stats.Float64HistoHandle)(d).Record(m.recorder, w, m.labels...)
	}
}
