package endpoint

import (
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// validatePriorities checks that the priorities of the localities that have
// weight are 0, 1, 2, … without a gap (gRFC A27). A priority that is not below
// the number of localities cannot be without one.
func validatePriorities(_ *resource.DecodeContext, p resource.Path, m *endpointv3.ClusterLoadAssignment, v *resource.Violations) {
	var few [64]bool // most resources allocate nothing here
	seen := few[:]
	if n := len(m.GetEndpoints()); n > len(seen) {
		seen = make([]bool, n)
	}
	var highest uint32
	for _, l := range m.GetEndpoints() {
		if l.GetLoadBalancingWeight().GetValue() == 0 {
			continue
		}
		highest = max(highest, l.GetPriority())
		if int64(l.GetPriority()) < int64(len(seen)) {
			seen[l.GetPriority()] = true
		}
	}
	if int64(highest) >= int64(len(seen)) || slices.Contains(seen[:highest], false) {
		v.Add(p.Field("endpoints.priority"), highest, "must not leave out a lower number (A27)")
	}
}
