package client

import (
	"hash/maphash"
	"slices"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A scratch holds the memory for reading a response. Responses of all streams reuse it, one after
// another. It is collected when it is unused for a while.
type scratch struct {
	response envelope.Response

	found     []uint32 // by number of the resource: an item of the type's memory, plus one; 0: none
	unchanged []authority.Unchanged
	group     [64]candidate
	touched   byte // keeps the compiler from removing reads ahead

	left       []uint32 // resources, from 0, that are not in results: unwatched, as far as is known
	asks       question
	news       []fresh
	unreadable int // resources without a name
	results    []authority.Result
	resources  int   // number of results for resources in the response
	names      index // of results
	seen       *seen // of the type
	budget     *wire.Shared
}

// A fresh is a resource that was not recognised as unchanged.
type fresh struct {
	number int    // in the response, from 1
	name   string // the name in its wrapper, if that is unreadable
	result int    // its result, or that of the first of the same name; not used if err means that it has no name
	body   []byte // nil: there is nothing to decode
	err    error  // the reason why it is rejected before decoding
	plain  bool   // its name is the one in its message
}

// forget drops all references to a response.
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

// grown returns a slice of n elements with arbitrary values.
func grown[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// An index finds positions by names. Its zero value is ready.
type index struct {
	seed  maphash.Seed
	slots []uint32 // a position, plus one; 0: the slot is empty
}

// reset empties the index and makes room for n names.
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

// reserve grows the index if it has no room for one more than n names.
func (x *index) reserve(n int, at func(position uint32) xdstp.Name) {
	if 2*(n+1) <= len(x.slots) {
		return
	}
	x.reset(2 * (n + 1))
	for i := range uint32(n) { //nolint:gosec // responses are bounded
		*x.slot(at(i), at) = i + 1
	}
}

// nameOf returns the name of a result.
func (w *scratch) nameOf(i uint32) xdstp.Name { return w.results[i].Name }

// slot returns the slot of a name: the one with its position, or the empty one for it. The function
// at returns the name at a position.
func (x *index) slot(name xdstp.Name, at func(position uint32) xdstp.Name) *uint32 {
	mask := uint64(len(x.slots) - 1) //nolint:gosec // there are slots
	i := maphash.String(x.seed, name.String()) & mask
	for x.slots[i] != 0 && at(x.slots[i]-1) != name {
		i = (i + 1) & mask
	}
	return &x.slots[i]
}
