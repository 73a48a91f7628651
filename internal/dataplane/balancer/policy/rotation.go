package policy

import (
	"math/rand/v2"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
)

// A rotation is the picker of the ready endpoints of a roundRobin. Only the loop changes it. Picks are
// concurrent and take no lock. Because endpoints enter and leave it in constant time, its order is
// not that of the control plane, as in grpc-go.
type rotation struct {
	endpoints []*rrEndpoint                     // of the slots in use, for the loop
	slots     []atomic.Pointer[balancer.Picker] // more than enough for all endpoints
	used      atomic.Uint64                     // the number of slots in use
	next      atomic.Uint64                     // counts picks, from a random start
	random    bool                              // picks are random
}

// newRotation returns an empty rotation with room for n endpoints.
func newRotation(n int, next uint64) *rotation {
	r := &rotation{endpoints: make([]*rrEndpoint, 0, n), slots: make([]atomic.Pointer[balancer.Picker], n)}
	r.next.Store(next)
	return r
}

// resized returns a rotation with room for n endpoints: r itself if its room is suitable. Otherwise
// it is a copy, and earlier pickers keep the endpoints that they have.
func (r *rotation) resized(n int) *rotation {
	if room := len(r.slots); n <= room && room <= 4*n {
		return r
	}
	next := newRotation(n+n/4, r.next.Load())
	next.random = r.random
	for _, e := range r.endpoints {
		next.add(e)
	}
	return next
}

// add adds an endpoint that is ready. There must be room.
func (r *rotation) add(e *rrEndpoint) {
	e.slot = len(r.endpoints)
	r.endpoints = append(r.endpoints, e)
	picker := e.state.Picker
	r.slots[e.slot].Store(&picker)
	r.used.Add(1)
}

// remove removes an endpoint. The last endpoint moves to its slot. A slot is emptied only after used
// excludes it, so a pick that finds it empty will read a smaller number, unless another endpoint was
// added.
func (r *rotation) remove(e *rrEndpoint) {
	last := len(r.endpoints) - 1
	moved := r.endpoints[last]
	r.endpoints[e.slot], r.endpoints[last] = moved, nil
	r.endpoints = r.endpoints[:last]
	moved.slot = e.slot
	r.slots[e.slot].Store(r.slots[last].Load())
	r.used.Store(uint64(last)) //nolint:gosec // not negative
	r.slots[last].Store(nil)
}

// Pick picks with the next ready endpoint, or with a random one.
func (r *rotation) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	var at uint64
	if r.random {
		at = rand.Uint64()
	} else {
		at = r.next.Add(1)
	}
	for {
		n := r.used.Load()
		if n == 0 {
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
		}
		if p := r.slots[at%n].Load(); p != nil {
			return (*p).Pick(info)
		}
	}
}
