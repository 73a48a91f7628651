package hosted

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
)

// unshuffled removes the shuffling from a configuration of pick_first. grpc's own shuffling cannot
// use the endpoints' weights (A113).
func unshuffled(config string) (string, bool) {
	var c struct {
		Shuffle bool `json:"shuffleAddressList"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil || !c.Shuffle {
		return config, false
	}
	return `{}`, true
}

// shuffled returns endpoints in a random order. Endpoints with more weight are more likely to be
// early (A113). It uses the weighted sampling of Efraimidis and Spirakis.
func shuffled(endpoints []node.Weighted) []node.Weighted {
	type keyed struct {
		key float64
		node.Weighted
	}
	order := make([]keyed, 0, len(endpoints))
	for _, e := range endpoints {
		// The logarithm of u^(1/weight), because rounding would lose the power for small weights.
		order = append(order, keyed{math.Log(rand.Float64()) / float64(e.Share), e})
	}
	slices.SortFunc(order, func(a, b keyed) int { return cmp.Compare(b.key, a.key) })
	out := make([]node.Weighted, 0, len(order))
	for _, k := range order {
		out = append(out, k.Weighted)
	}
	return out
}
