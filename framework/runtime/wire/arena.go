package wire

import "sync"

// The most that an [Arena] makes room for beyond what it is asked for: elements
// need not be alike, and the control plane says how many there are.
const (
	maxElements = 1 << 10
	maxText     = 1 << 14 // bytes
)

// An Arena makes the slices and texts of one resource in few allocations: those of
// its views, and those that its update keeps. Views tell it what is to come. The
// zero value is ready; nil allocates each slice.
type Arena struct {
	blocks  []emptied // of *block[T], by T
	outer   int       // how many elements the last list of views has
	left    int       // how many elements are still to ask for strings
	strings block[string]
	text    []byte
	own     Budget // for readers that are given none
}

// A Pool keeps the arenas of a type's resources from one to the next. It is safe for
// concurrent use; nil keeps none.
type Pool struct{ arenas sync.Pool }

// Get is an arena for one resource.
func (p *Pool) Get() *Arena {
	if p != nil {
		if a, ok := p.arenas.Get().(*Arena); ok {
			return a
		}
	}
	return new(Arena)
}

// Put takes an arena back when its resource is decoded, with the room of all that
// [Scratch] made, which must not be used any more.
func (p *Pool) Put(a *Arena) {
	if p == nil {
		return
	}
	for _, b := range a.blocks {
		b.empty()
	}
	*a = Arena{blocks: a.blocks, own: Budget{costs: a.own.costs}}
	p.arenas.Put(a)
}

// Read is [Read] for a resource whose slices the arena makes, within a budget.
func (a *Arena) Read(b []byte, budget *Budget) Reader {
	r := Read(b)
	r.arena, r.budget = a, budget
	return r
}

// Budget is a budget of the arena's own, for a resource that is decoded outside a
// client.
func (a *Arena) Budget() *Budget { return &a.own }

// A block is what there is for slices of one type.
type block[T any] struct {
	free    []T
	given   int // how many elements there are in all slices
	scratch []T // what is used again, to its length in use
}

type emptied interface{ empty() }

// empty makes a block ready for another resource.
func (b *block[T]) empty() {
	if cap(b.scratch) > maxElements {
		b.scratch = nil
	}
	clear(b.scratch)
	*b = block[T]{scratch: b.scratch[:0]}
}

func blockOf[T any](a *Arena) *block[T] {
	for _, b := range a.blocks {
		if b, ok := b.(*block[T]); ok {
			return b
		}
	}
	b := new(block[T])
	a.blocks = append(a.blocks, b)
	return b
}

// slice is an empty slice with room for n elements. Where it has to allocate, it
// makes room for as many as are wanted.
func (b *block[T]) slice(n, want int) []T {
	if n > len(b.free) {
		b.free = make([]T, max(n, min(want, maxElements)))
	}
	b.given += n
	out := b.free[:0:n]
	b.free = b.free[n:]
	return out
}

// again is [block.slice] of what is used again.
func (b *block[T]) again(n, want int) []T {
	used := len(b.scratch)
	if n > cap(b.scratch)-used {
		b.scratch, used = make([]T, 0, max(n, min(want, maxElements))), 0
	}
	b.given += n
	b.scratch = b.scratch[:used+n]
	return b.scratch[used : used : used+n]
}

// wanted is how many elements of a list of n views to make room for: the first list
// makes it for those of the elements beside the one that it is in, as if they were
// alike.
func (b *block[T]) wanted(a *Arena, n int) int {
	want := n
	if b.given == 0 {
		want = n * max(a.outer, 1)
	}
	a.outer = n
	return want
}

// List is an empty slice, for the update, with room for n elements, each made of a
// view V; nil where n is 0.
func List[T, V any](a *Arena, n int) []T {
	if n == 0 {
		return nil
	}
	b := blockOf[T](a)
	return b.slice(n, blockOf[V](a).given-b.given)
}

// Strings is an empty slice, for the update, with room for n strings, of which each
// view V asks for as many; nil where n is 0.
func Strings[V any](a *Arena, n int) []string {
	if n == 0 {
		return nil
	}
	if a.left == 0 {
		a.left = blockOf[V](a).given
	}
	a.left--
	return a.strings.slice(n, n*(a.left+1))
}

// Buffer is an empty slice with room for n bytes, of which [Arena.Text] makes a string
// in place.
func (a *Arena) Buffer(n int) []byte {
	if cap(a.text)-len(a.text) < n {
		a.text = make([]byte, 0, max(n, min(n*(a.left+1), maxText)))
	}
	return a.text[len(a.text):]
}

// Text is a string of what was appended to the last buffer, which nothing may be
// appended to any more.
func (a *Arena) Text(b []byte) string {
	if start := len(a.text); cap(b) == cap(a.text)-start { // else there was not room enough
		a.text = a.text[:start+len(b)]
	}
	return text(b)
}
