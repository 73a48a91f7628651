package hosted

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/node"
)

// unshuffled takes the wish to shuffle out of a configuration of pick_first. grpc's own
// shuffling would not know the endpoints' weights, which cannot be told to it (A113).
func unshuffled(config string) (string, bool) {
	var c struct {
		Shuffle bool `json:"shuffleAddressList"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil || !c.Shuffle {
		return config, false
	}
	return `{}`, true
}

// shuffled puts endpoints in a random order, in which those with more weight are more
// likely to be early (A113): by the weighted sampling of Efraimidis and Spirakis.
func shuffled(endpoints []node.Weighted) []node.Weighted {
	type keyed struct {
		key float64
		node.Weighted
	}
	order := make([]keyed, 0, len(endpoints))
	for _, e := range endpoints {
		// The logarithm of u^(1/weight), which is lost in rounding for small weights.
		order = append(order, keyed{math.Log(rand.Float64()) / float64(e.Share), e})
	}
	slices.SortFunc(order, func(a, b keyed) int { return cmp.Compare(b.key, a.key) })
	out := make([]node.Weighted, 0, len(order))
	for _, k := range order {
		out = append(out, k.Weighted)
	}
	return out
}
