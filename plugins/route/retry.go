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

// A BackOff is how long to wait between two attempts: about Base after the first,
// twice as long after each further one, never longer than Max (A44).
type BackOff struct{ Base, Max time.Duration }

// The back-off of a policy that does not say one (A44).
const (
	defaultBase = 25 * time.Millisecond
	defaultMax  = 250 * time.Millisecond
	shortest    = time.Millisecond
)

// retryBackOff reads a back-off. Its base must be set; the longest wait is ten times
// that unless it is set too (A44).
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

// retryCodes reads the conditions of retry_on that are gRPC's; others mean nothing to
// it (A44).
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

// RetryFor is the retry policy of the calls that a route of the virtual host takes:
// the route's, or else the virtual host's; nil: there is none (A44).
func (h *VirtualHost) RetryFor(r *Route) *RetryPolicy {
	if r != nil && r.Retry != nil {
		return r.Retry
	}
	if h == nil {
		return nil
	}
	return h.Retry
}
