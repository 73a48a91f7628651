package policy

import (
	"math"
	"sync/atomic"
)

// A schedule distributes picks over endpoints in proportion to weights (A58). It is immutable. Its
// picks are spread evenly: each endpoint has turns at a fixed distance, as in the static stride
// scheduler of gRPC.
type schedule struct {
	n       uint64   // of endpoints
	weights []uint16 // in relation to the largest, which is maxWeight; nil: all are equal
}

const maxWeight = math.MaxUint16

// newSchedule returns a schedule for weights, of which 0 means the average of the others. The scales
// are factors of the weights, which the average does not have. equal says that all endpoints have
// equal shares because fewer than two weights are known.
func newSchedule(weights, scales []float64) (s *schedule, equal bool) {
	s = &schedule{n: uint64(len(weights))}
	var sum, most float64
	known := 0
	for _, w := range weights {
		if w > 0 {
			known++
			most = max(most, w)
		}
	}
	if known < 2 {
		return s, true
	}
	for _, w := range weights {
		sum += w / most // does not overflow
	}
	shares, largest := make([]float64, len(weights)), 0.0
	for i, w := range weights {
		if shares[i] = w / most; w == 0 {
			shares[i] = sum / float64(known)
		}
		shares[i] *= scales[i]
		largest = max(largest, shares[i])
	}
	if largest == 0 { // slow start may reduce all weights to 0
		return s, true
	}
	s.weights = make([]uint16, len(weights))
	for i, share := range shares {
		s.weights[i] = uint16(max(math.Round(share/largest*maxWeight), 1)) // each endpoint gets some calls, and can report
	}
	return s, false
}

// pick returns the index of the next endpoint. The number of a turn has two parts: the index of an
// endpoint, and the number of its earlier turns. An endpoint skips turns in proportion to its weight.
// The one with the largest weight skips none, so the search ends.
func (s *schedule) pick(next *atomic.Uint64) int {
	for {
		turn := next.Add(1)
		i := turn % s.n
		if s.weights == nil {
			return int(i) //nolint:gosec // an index
		}
		// Endpoints with equal weights skip different turns.
		w, before := uint64(s.weights[i]), turn/s.n%maxWeight
		if (w*before+i*(maxWeight/2))%maxWeight >= maxWeight-w {
			return int(i) //nolint:gosec // an index
		}
	}
}
