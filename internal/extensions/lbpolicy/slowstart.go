package lbpolicy

import (
	"encoding/json"
	"math"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/common/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// A SlowStart reduces the weights of endpoints that have become ready a short time ago (A100).
type SlowStart struct {
	// Window is the time after which an endpoint has its full weight.
	Window Period `json:"slowStartWindow"`
	// Aggression is the exponent's inverse of the increase. 1 is a linear increase.
	Aggression float64 `json:"aggression"`
	// MinPercent is the least share of the weight, from 0 to 100.
	MinPercent float64 `json:"minWeightPercent"`
}

// UnmarshalJSON decodes the fields. Fields that are not set have A100's defaults.
func (s *SlowStart) UnmarshalJSON(b []byte) error {
	type plain SlowStart
	p := plain{Aggression: 1, MinPercent: 10}
	err := json.Unmarshal(b, &p)
	*s = SlowStart(p)
	return err
}

// Scale returns the factor of the weight of an endpoint, by the time since it became ready. Nil always
// returns 1.
func (s *SlowStart) Scale(ready time.Duration) float64 {
	if s == nil || ready >= time.Duration(s.Window) {
		return 1
	}
	passed := max(ready, time.Second).Seconds() / time.Duration(s.Window).Seconds()
	return min(max(s.MinPercent/100, math.Pow(passed, 1/s.Aggression)), 1)
}

// Check adds the violations of fields in a message or a text. The paths are those of the fields.
func (s *SlowStart) Check(window, aggression, percent resource.Path, v *resource.Violations) {
	if s.Window <= 0 {
		v.Add(window, time.Duration(s.Window), "must be above 0s (A100)")
	}
	if !(s.Aggression > 0) || math.IsInf(s.Aggression, 0) {
		v.Add(aggression, s.Aggression, "must be a number above 0 (A100)")
	}
	if !(s.MinPercent >= 0 && s.MinPercent <= 100) {
		v.Add(percent, s.MinPercent, "must be from 0 to 100 (A100)")
	}
}

// slowStartConfig is the form of a SlowStart in a service config.
type slowStartConfig struct {
	Window     duration `json:"slowStartWindow,omitzero"`
	Aggression *float64 `json:"aggression,omitempty"`
	MinPercent *float64 `json:"minWeightPercent,omitempty"`
}

// slowStart converts a message. Nil stays nil.
func slowStart(m *commonv3.SlowStartConfig, v *resource.Violations) *slowStartConfig {
	if m == nil {
		return nil
	}
	at := (*resource.Path)(nil).Field("slow_start_config")
	window, aggression, percent := at.Field("slow_start_window"), at.Field("aggression"), at.Field("min_weight_percent")
	s := SlowStart{Window: Period(convert.Duration(window, m.GetSlowStartWindow(), v)), Aggression: 1, MinPercent: 10}
	c := &slowStartConfig{Window: duration{m.GetSlowStartWindow()}}
	if a := m.GetAggression(); a != nil {
		s.Aggression = a.GetDefaultValue()
		c.Aggression = &a.DefaultValue
	}
	if p := m.GetMinWeightPercent(); p != nil {
		s.MinPercent = p.GetValue()
		c.MinPercent = &p.Value
	}
	s.Check(window, aggression, percent, v)
	return c
}
