package wire

import (
	"sync/atomic"
	"unsafe"
)

// A Budget bounds the memory that decoding one resource takes. Decoders spend it before
// they allocate: readers for the elements of lists and the entries of maps, hooks for their
// results. It is used for one resource after another,
// and is not safe for concurrent use. A nil budget bounds nothing.
type Budget struct {
	size, regexps meter
	over          *Excess // nil: nothing was denied
	costs         *Costs
}

// Quotas are the limits of a budget.
type Quotas struct {
	Size    int64 // of elements, in bytes
	Regexps int64 // instructions of compiled regular expressions
}

// A Shared is the part of a budget that all resources of a response share. It is safe for
// concurrent use.
type Shared struct{ size, regexps pot }

// NewShared returns the budget that the resources of a response share.
func NewShared(q Quotas) *Shared {
	s := new(Shared)
	s.size.left.Store(q.Size)
	s.regexps.left.Store(q.Regexps)
	return s
}

// A meter counts one kind of cost. The next resource uses the rest of the grant from the
// pot.
type meter struct {
	left    int64 // of the resource's limit
	granted int64
	shared  *pot // nil: the resource's limit is the only one
}

// A pot is the shared limit of one kind of cost.
type pot struct{ left atomic.Int64 }

// grant is the limit of the amount that a meter takes from a pot beyond its need. Several
// processors decode resources and should not contend for the pot at each list.
const grant = 64 << 10

// Start resets the budget for a new resource. Costs and Shared may be nil.
func (b *Budget) Start(q Quotas, c *Costs, s *Shared) {
	b.size.left, b.regexps.left, b.over = q.Size, q.Regexps, nil
	if c != nil {
		b.costs = c
	}
	if s != nil {
		b.size.shared, b.regexps.shared = &s.size, &s.regexps
	}
}

// take spends n of the resource's limit and kept of the shared one, if both suffice.
func (m *meter) take(n, kept int64) verdict {
	switch {
	case n > m.left:
		return overResource
	case m.shared != nil && kept > m.granted && !m.refill(kept):
		return overResponse
	}
	m.left -= n
	if m.shared != nil {
		m.granted -= kept
	}
	return granted
}

// refill takes n from the pot.
func (m *meter) refill(n int64) bool {
	need := n - m.granted
	for _, more := range [...]int64{need + grant, need} {
		if m.shared.left.Add(-more) >= 0 {
			m.granted += more
			return true
		}
		m.shared.left.Add(more)
	}
	return false
}

// A verdict is the answer to a request to spend.
type verdict uint8

const (
	granted verdict = iota
	overResource
	overResponse
)

// An Excess is a cost that a budget denied.
type Excess struct {
	Count    int  // of elements or instructions
	Size     int  // of each element, in bytes
	Regexps  bool // they are instructions of regular expressions
	Response bool // the limit of the response is exceeded, not that of the resource

	at int // where the list is in the encoded message; -1: unknown
}

// Excess returns the first cost that was denied, or nil.
func (b *Budget) Excess() *Excess {
	if b == nil {
		return nil
	}
	return b.over
}

// Elements spends the memory of n elements of a size, and reports whether the budget allows it. If
// not, decoding must end: the budget denies everything from then on.
func (b *Budget) Elements(n, size int) bool { return b.elements(n, size, -1) }

func (b *Budget) elements(n, size, at int) bool {
	if b == nil {
		return true
	}
	cost := int64(n) * int64(size)
	return b.charge(b.size.take(cost, cost), Excess{Count: n, Size: size, at: at})
}

// Regexp is [Budget.Elements] for a regular expression that compiles to n instructions.
func (b *Budget) Regexp(n int) bool {
	if b == nil {
		return true
	}
	return b.charge(b.regexps.take(int64(n), int64(n)), Excess{Count: n, Regexps: true, at: -1})
}

// HasRegexp reports whether the budget has n instructions. It spends nothing, but a denial
// is one of [Budget.Regexp].
func (b *Budget) HasRegexp(n int) bool {
	if b == nil || int64(n) <= b.regexps.left {
		return true
	}
	return b.charge(overResource, Excess{Count: n, Regexps: true, at: -1})
}

func (b *Budget) charge(v verdict, e Excess) bool {
	if v == granted && b.over == nil {
		return true
	}
	if b.over == nil {
		e.Response = v == overResponse
		b.over = new(e)
	}
	return false
}

// sizeOf returns the size of a value.
func sizeOf[T any]() int {
	var x T
	return int(unsafe.Sizeof(x))
}
