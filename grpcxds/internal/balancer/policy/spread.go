package policy

import (
	"math/rand/v2"
	"sort"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/node"
)

// A spread picks among pickers at random, by their weights.
type spread struct {
	pickers []balancer.Picker
	// ends are where, on a line on which each picker takes up its weight, it ends.
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

// picker is the spread, or whatever does the same with less.
func (s *spread) picker() balancer.Picker {
	switch len(s.pickers) {
	case 0:
		return node.Fail{Err: ErrNoEndpoints}
	case 1:
		return s.pickers[0]
	}
	return s
}

// Pick has one of the pickers pick.
func (s *spread) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	return s.pickers[s.at(rand.Uint64N(s.ends[len(s.ends)-1]))].Pick(info)
}

// at is the index of the picker in whose part of the line a point is.
func (s *spread) at(point uint64) int {
	return sort.Search(len(s.ends), func(i int) bool { return point < s.ends[i] })
}
