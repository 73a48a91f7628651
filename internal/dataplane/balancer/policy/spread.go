package policy

import (
	"math/rand/v2"
	"sort"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
)

// A spread picks among pickers at random, by their weights.
type spread struct {
	pickers []balancer.Picker
	// ends are the cumulative weights of the pickers.
	ends []uint64
}

func (s *spread) add(weight uint32, p balancer.Picker) {
	end := uint64(weight)
	if n := len(s.ends); n > 0 {
		end += s.ends[n-1]
	}
	s.pickers = append(s.pickers, p)
	s.ends = append(s.ends, end)
}

// picker returns the spread, or a simpler picker if there is at most one.
func (s *spread) picker() balancer.Picker {
	switch len(s.pickers) {
	case 0:
		return node.Fail{Err: ErrNoEndpoints}
	case 1:
		return s.pickers[0]
	}
	return s
}

// Pick picks with one of the pickers.
func (s *spread) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	return s.pickers[s.at(rand.Uint64N(s.ends[len(s.ends)-1]))].Pick(info)
}

// at returns the index of the picker for a point in the cumulative weights.
func (s *spread) at(point uint64) int {
	return sort.Search(len(s.ends), func(i int) bool { return point < s.ends[i] })
}
