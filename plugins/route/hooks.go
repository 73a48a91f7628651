package route

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// totalWeight is the sum of the clusters' weights. That it fits is a rule's
// business.
func totalWeight(_ *resource.DecodeContext, clusters []*routev3.WeightedCluster_ClusterWeight) (uint32, error) { //nolint:unparam // the type of a hook
	var sum uint32
	for _, c := range clusters {
		sum += c.GetWeight().GetValue()
	}
	return sum, nil
}
