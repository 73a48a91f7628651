package route

import (
	"math"
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// A BackOff configures the delay between attempts (A44). It is about Base after the first
// attempt and doubles after each further one, up to Max.
type BackOff struct{ Base, Max time.Duration }

// The default back-off (A44).
const (
	defaultBase = 25 * time.Millisecond
	defaultMax  = 250 * time.Millisecond
	shortest    = time.Millisecond
)

// retryBackOff decodes a back-off. The base must be set. The default of the maximum is ten
// times the base (A44).
func retryBackOff(_ *resource.DecodeContext, m *routev3.RetryPolicy_RetryBackOff) (BackOff, error) {
	if m == nil {
		return BackOff{defaultBase, defaultMax}, nil
	}
	var v resource.Violations
	var root *resource.Path
	base := convert.Duration(root.Field("base_interval"), m.GetBaseInterval(), &v)
	switch {
	case m.GetBaseInterval() == nil:
		v.Add(root.Field("base_interval"), nil, "must be set (A44)")
	case base <= 0 && v.Err() == nil:
		v.Add(root.Field("base_interval"), base, "must be above 0s (A44)")
	}
	out := BackOff{Base: max(base, shortest)}
	if m.GetMaxInterval() == nil {
		out.Max = 10 * min(out.Base, math.MaxInt64/10)
		return out, v.Err()
	}
	most := convert.Duration(root.Field("max_interval"), m.GetMaxInterval(), &v)
	switch {
	case most <= 0:
		v.Add(root.Field("max_interval"), most, "must be above 0s (A44)")
	case most < base:
		v.Add(root.Field("max_interval"), most, "must not be below base_interval (A44)")
	}
	out.Max = max(most, shortest)
	return out, v.Err()
}

// retryCodes decodes the conditions of retry_on that gRPC supports. It ignores others
// (A44).
func retryCodes(_ *resource.DecodeContext, conditions string) ([]uint32, error) { //nolint:unparam // the type of a hook
	const cancelled, deadlineExceeded, resourceExhausted, internal, unavailable = 1, 4, 8, 13, 14
	var codes []uint32
	for c := range strings.SplitSeq(conditions, ",") {
		switch strings.ToLower(strings.TrimSpace(c)) {
		case "cancelled":
			codes = append(codes, cancelled)
		case "deadline-exceeded":
			codes = append(codes, deadlineExceeded)
		case "resource-exhausted":
			codes = append(codes, resourceExhausted)
		case "internal":
			codes = append(codes, internal)
		case "unavailable":
			codes = append(codes, unavailable)
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes), nil
}

// RetryFor returns the retry policy for the calls of a route: the route's own, or else the
// virtual host's (A44). It returns nil if there is neither.
func (h *VirtualHost) RetryFor(r *Route) *RetryPolicy {
	if r != nil && r.Retry != nil {
		return r.Retry
	}
	if h == nil {
		return nil
	}
	return h.Retry
}
