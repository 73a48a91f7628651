package lbpolicy

import (
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// named returns the policies without children by their gRPC names, which TypedStructs use
// (A52). The configuration is the JSON of a service config.
func named() []*resource.LBPolicy {
	return []*resource.LBPolicy{
		byName(RoundRobin, func(*struct{}, *resource.Violations) {}),
		byName("pick_first", func(*struct {
			Shuffle bool `json:"shuffleAddressList"`
		}, *resource.Violations) {
		}),
		byName("least_request_experimental", checkLeastRequest),
		byName(RingHash, checkRingHash),
		byName(WeightedRoundRobin, checkWeighted),
	}
}

// byName returns the policy with the given name. Its configuration must unmarshal into C.
// check adds the violations.
func byName[C any](name string, check func(*C, *resource.Violations)) *resource.LBPolicy {
	return &resource.LBPolicy{
		Config: name, Named: true,
		Convert: func(c resource.TypedConfig, _ resource.LBChildren) (resource.LBConfig, error) {
			out, err := resource.NewLBConfig(name, c.Fields)
			if err != nil {
				return resource.LBConfig{}, err
			}
			var v resource.Violations
			config := new(C)
			if err := json.Unmarshal([]byte(out.Config), config); err != nil {
				v.AddError(value(), err)
			} else {
				check(config, &v)
			}
			return out, v.Err()
		},
	}
}

// value is the path of the configuration in a TypedStruct.
func value() resource.Path { return (*resource.Path)(nil).Field("value") }

func checkLeastRequest(c *struct {
	ChoiceCount *uint32 `json:"choiceCount"`
}, v *resource.Violations,
) {
	if n := c.ChoiceCount; n != nil && *n < 2 {
		at := value()
		v.Add(at.Field("choiceCount"), *n, "must be at least 2 (A48)")
	}
}

func checkRingHash(c *struct {
	Min    uint64  `json:"minRingSize"`
	Max    *uint64 `json:"maxRingSize"`
	Header string  `json:"requestHashHeader"`
}, v *resource.Violations,
) {
	low, high, at := c.Min, uint64(MaxRingSize), value()
	if low == 0 { // not set
		low = MinRingSize
	}
	if c.Max != nil {
		high = *c.Max
	}
	checkSizes(low, high, at.Field("minRingSize"), at.Field("maxRingSize"), v)
	if h := strings.ToLower(c.Header); h != "" && (!httpguts.ValidHeaderFieldName(h) || strings.HasSuffix(h, "-bin")) {
		v.Add(at.Field("requestHashHeader"), c.Header, "must be the name of a header that is not binary (A76)")
	}
}

func checkWeighted(c *struct {
	OOB     bool       `json:"enableOobLoadReport"`
	Report  Period     `json:"oobReportingPeriod"`
	Black   Period     `json:"blackoutPeriod"`
	Expire  Period     `json:"weightExpirationPeriod"`
	Update  Period     `json:"weightUpdatePeriod"`
	Penalty float64    `json:"errorUtilizationPenalty"`
	Metrics []string   `json:"metricNamesForComputingUtilization"`
	Slow    *SlowStart `json:"slowStartConfig"`
}, v *resource.Violations,
) {
	if c.Penalty < 0 {
		at := value()
		v.Add(at.Field("errorUtilizationPenalty"), c.Penalty, "must be at least 0 (A58)")
	}
	if s := c.Slow; s != nil {
		root := value()
		at := root.Field("slowStartConfig")
		s.Check(at.Field("slowStartWindow"), at.Field("aggression"), at.Field("minWeightPercent"), v)
	}
}

// A Period is a duration in protobuf's JSON form.
type Period time.Duration

// UnmarshalJSON decodes the duration.
func (d *Period) UnmarshalJSON(b []byte) error {
	var m durationpb.Duration
	if err := protojson.Unmarshal(b, &m); err != nil {
		return err
	}
	*d = Period(m.AsDuration())
	return nil
}
