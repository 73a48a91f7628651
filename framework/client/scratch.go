package client

import (
	"hash/maphash"
	"slices"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A scratch is the room that looking at a response takes. It is used for one response
// after another, of any stream, and goes when there is none for a while.
type scratch struct {
	response envelope.Response

	found     []uint32 // by number of the resource: an item of the type's memory, plus one; 0: none
	unchanged []authority.Unchanged
	group     [64]candidate
	touched   byte // what makes reading ahead count as something

	left       []uint32 // resources, from 0, that are not in results: nobody watches them, as far as is known
	asks       question
	news       []fresh
	unreadable int // resources without a name
	results    []authority.Result
	resources  int   // of results, those that the response has
	names      index // of results
	seen       *seen // of the type
	budget     *wire.Shared
}

// A fresh is a resource that is not known to be what it was.
type fresh struct {
	number int    // in the response, from 1
	name   string // what it calls itself, where that cannot be read
	result int    // its result, or that of the first of the same name; unless err says that it has no name
	body   []byte // nil: there is nothing to decode
	err    error  // why it is rejected before it is decoded
	plain  bool   // it goes by the name in its message
}

// forget lets go of everything that belongs to a response.
func (w *scratch) forget() {
	clear(w.unchanged)
	clear(w.group[:])
	clear(w.news)
	clear(w.results)
	clear(w.asks.names)
	w.unchanged, w.news, w.results = w.unchanged[:0], w.news[:0], w.results[:0]
	w.left, w.asks = w.left[:0], question{names: w.asks.names[:0]}
	w.unreadable, w.resources, w.seen, w.budget = 0, 0, nil, nil
	w.response.Forget()
}

// grown is a slice of n elements, whatever they are.
func grown[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// An index finds something by names. Its zero value is ready.
type index struct {
	seed  maphash.Seed
	slots []uint32 // a position, plus one; 0: the slot is empty
}

// reset makes the index an empty one with room for n names.
func (x *index) reset(n int) {
	size := 8
	for size < 2*n {
		size *= 2
	}
	if x.seed == (maphash.Seed{}) {
		x.seed = maphash.MakeSeed()
	}
	x.slots = grown(x.slots, size)
	clear(x.slots)
}

// reserve makes the index a larger one where it has no room for one more than n names.
func (x *index) reserve(n int, at func(position uint32) xdstp.Name) {
	if 2*(n+1) <= len(x.slots) {
		return
	}
	x.reset(2 * (n + 1))
	for i := range uint32(n) { //nolint:gosec // responses are bounded
		*x.slot(at(i), at) = i + 1
	}
}

// nameOf is the name of a result.
func (w *scratch) nameOf(i uint32) xdstp.Name { return w.results[i].Name }

// slot is the one with the position of a name, or the empty one where that is to be.
// What is at a position has the name that at returns.
func (x *index) slot(name xdstp.Name, at func(position uint32) xdstp.Name) *uint32 {
	mask := uint64(len(x.slots) - 1) //nolint:gosec // there are slots
	i := maphash.String(x.seed, name.String()) & mask
	for x.slots[i] != 0 && at(x.slots[i]-1) != name {
		i = (i + 1) & mask
	}
	return &x.slots[i]
}
