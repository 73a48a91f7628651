package wire

import "sync"

// The limits of the room that an [Arena] makes beyond a request: elements may differ, and the
// control plane decides how many there are.
const (
	maxElements = 1 << 10
	maxText     = 1 << 14 // bytes
)

// An Arena allocates the slices and texts of one resource in few allocations: those of its views,
// and those that its update keeps. Views announce their needs to it. The zero value is ready. A nil
// Arena allocates each slice.
type Arena struct {
	blocks  []emptied // of *block[T], by T
	outer   int       // number of elements in the last list of views
	left    int       // number of elements that have yet to ask for strings
	strings block[string]
	texts   int // number of elements of the last list that have yet to ask for a text
	text    []byte
	own     Budget // for readers without another budget
}

// A Pool keeps the arenas of a type's resources for later resources. It is safe for concurrent use.
// A nil Pool keeps none.
type Pool struct{ arenas sync.Pool }

// Get returns an arena for one resource.
func (p *Pool) Get() *Arena {
	if p != nil {
		if a, ok := p.arenas.Get().(*Arena); ok {
			return a
		}
	}
	return new(Arena)
}

// Put returns an arena when its resource is decoded. The memory of all [Scratch] calls must not be
// used any more.
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

// Read is [Read] for a resource whose slices the arena allocates, within a budget.
func (a *Arena) Read(b []byte, budget *Budget) Reader {
	r := Read(b)
	r.arena, r.budget = a, budget
	return r
}

// Budget returns the arena's own budget, for a resource that is decoded outside a client.
func (a *Arena) Budget() *Budget { return &a.own }

// A block is the memory for slices of one type.
type block[T any] struct {
	free    []T
	given   int // number of elements in all slices
	scratch []T // reused memory, up to its length in use
}

type emptied interface{ empty() }

// empty prepares a block for another resource.
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

// slice returns an empty slice with room for n elements. If it has to allocate, it makes room for
// want elements.
func (b *block[T]) slice(n, want int) []T {
	if n > len(b.free) {
		b.free = make([]T, max(n, min(want, maxElements)))
	}
	b.given += n
	out := b.free[:0:n]
	b.free = b.free[n:]
	return out
}

// again is [block.slice] for reused memory. New memory is twice as large as the last, so that the
// next resource finds enough.
func (b *block[T]) again(n, want int) []T {
	used := len(b.scratch)
	if n > cap(b.scratch)-used {
		b.scratch, used = make([]T, 0, max(n, min(max(want, 2*used), maxElements))), 0
	}
	b.given += n
	b.scratch = b.scratch[:used+n]
	return b.scratch[used : used : used+n]
}

// wanted returns the number of elements to make room for in a list of n views. The first list also
// makes room for the lists in the sibling elements, as if these were alike.
func (b *block[T]) wanted(a *Arena, n int) int {
	want := n
	if b.given == 0 {
		want = n * max(a.outer, 1)
	}
	a.outer = n
	return want
}

// List returns an empty slice, for the update, with room for n elements, each made of a view V. It
// returns nil if n is 0.
func List[T, V any](a *Arena, n int) []T {
	if n == 0 {
		return nil
	}
	b := blockOf[T](a)
	a.texts = blockOf[V](a).given - b.given
	return b.slice(n, a.texts)
}

// Strings returns an empty slice, for the update, with room for n strings. Each view V asks for as
// many. It returns nil if n is 0.
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

// Buffer returns an empty slice with room for n bytes, which [Arena.Text] converts to a string in
// place. If it has to allocate, it makes room for the remaining elements of the last list, as if each
// asked for one text of this size. If elements ask for more texts, the room halves each time.
func (a *Arena) Buffer(n int) []byte {
	if cap(a.text)-len(a.text) < n {
		want := min(n*a.texts, maxText)
		if a.texts == 0 {
			want = cap(a.text) / 2
		}
		a.text = make([]byte, 0, max(n, want))
	}
	return a.text[len(a.text):]
}

// Text returns a string of the bytes appended to the last buffer. The caller must not append to it
// any more.
func (a *Arena) Text(b []byte) string {
	if start := len(a.text); cap(b) == cap(a.text)-start { // else there was not room enough
		a.text = a.text[:start+len(b)]
	}
	a.texts = max(a.texts-1, 0)
	return text(b)
}
