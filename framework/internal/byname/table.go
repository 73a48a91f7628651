// Package byname finds values by their names.
package byname

import (
	"hash/maphash"
	"iter"
)

// A Table is a hash table of values by their names. It uses the next slot on a collision. It has the
// values and four bytes of each hash: 16 to 32 bytes for a pointer, where a map takes 44. Therefore each
// method gets the function of the name, which must not change while the value is in the table. With one
// byte of each hash, a table that grows reads all names again, which took 3 % of the start-up with 100,000 resources.
//
// The zero Table is ready. It is not safe for concurrent use.
type Table[T any] struct {
	seed  maphash.Seed
	tags  []uint32 // of each slot: a part of the hash, or 0 if the slot is empty
	slots []T
	used  int
}

const (
	minSlots  = 8    // slots of a small table
	keptSlots = 1024 // Reset keeps up to eight times as many
)

// Len returns the number of values.
func (t *Table[T]) Len() int { return t.used }

// All yields the values in no particular order. The table must not change meanwhile.
func (t *Table[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i, tag := range t.tags {
			if tag != 0 && !yield(t.slots[i]) {
				return
			}
		}
	}
}

// Find returns the value of a name.
func (t *Table[T]) Find(name string, of func(T) string) (v T, ok bool) {
	if t.used == 0 {
		return v, false
	}
	i, _ := t.slot(name, of)
	if t.tags[i] == 0 {
		return v, false
	}
	return t.slots[i], true
}

// Place returns the place of the value of a name. If the name had no value, the caller must set it before
// it calls another method.
func (t *Table[T]) Place(name string, of func(T) string) (at *T, known bool) {
	t.Grow(1)
	i, tag := t.slot(name, of)
	if known = t.tags[i] != 0; !known {
		t.used++
		t.tags[i] = tag
	}
	return &t.slots[i], known
}

// Set sets the value of a name. It replaces the value before, if any.
func (t *Table[T]) Set(name string, v T, of func(T) string) {
	at, _ := t.Place(name, of)
	*at = v
}

// Add returns the value of a name. If it has none, Add sets it to v, and returns v.
func (t *Table[T]) Add(name string, v T, of func(T) string) T {
	at, known := t.Place(name, of)
	if !known {
		*at = v
	}
	return *at
}

// Grow makes room for n more values. It at least doubles a table that is too small.
func (t *Table[T]) Grow(n int) {
	if 4*(t.used+n) <= 3*len(t.slots) {
		return
	}
	size := max(minSlots, 2*len(t.slots))
	for 4*(t.used+n) > 3*size {
		size *= 2
	}
	t.resize(size)
}

// Delete removes the value of a name. It makes a smaller table if few values are left.
func (t *Table[T]) Delete(name string, of func(T) string) {
	if t.used == 0 {
		return
	}
	hole, _ := t.slot(name, of)
	if t.tags[hole] == 0 {
		return
	}
	t.used--
	for i := t.after(hole); t.tags[i] != 0; i = t.after(i) {
		if mask := len(t.slots) - 1; (i-t.home(t.tags[i]))&mask >= (i-hole)&mask { // its search passes the hole
			t.tags[hole], t.slots[hole], hole = t.tags[i], t.slots[i], i
		}
	}
	var none T
	t.tags[hole], t.slots[hole] = 0, none
	if n := len(t.slots); n > minSlots && 8*t.used < n {
		t.resize(n / 4)
	}
}

// Reset empties the table and makes room for n values. It keeps its memory, unless that is far more
// than it needs, and no value.
func (t *Table[T]) Reset(n int) {
	size := minSlots
	for 3*size < 4*n {
		size *= 2
	}
	t.used = 0
	if size > cap(t.slots) || cap(t.slots) > max(size, keptSlots)*8 {
		t.allocate(size)
		return
	}
	clear(t.slots) // all of the last ones, which may be more than size
	t.tags, t.slots = t.tags[:size], t.slots[:size]
	clear(t.tags)
}

func (t *Table[T]) allocate(size int) {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	t.tags, t.slots = make([]uint32, size), make([]T, size)
}

// resize makes another table of the values.
func (t *Table[T]) resize(size int) {
	tags, slots := t.tags, t.slots
	t.allocate(size)
	for i, tag := range tags {
		if tag != 0 {
			at := t.home(tag)
			for t.tags[at] != 0 { // all names differ
				at = t.after(at)
			}
			t.tags[at], t.slots[at] = tag, slots[i]
		}
	}
}

// slot returns the slot of a name, or the empty slot for it, and the tag of the name.
func (t *Table[T]) slot(name string, of func(T) string) (i int, tag uint32) {
	tag = uint32(maphash.String(t.seed, name)) | 1 //nolint:gosec // its lower half
	for i = t.home(tag); t.tags[i] != 0 && (t.tags[i] != tag || of(t.slots[i]) != name); {
		i = t.after(i)
	}
	return i, tag
}

// home returns the first slot to search for a tag. The lowest bit of all tags is set.
func (t *Table[T]) home(tag uint32) int { return int(tag>>1) & (len(t.slots) - 1) }

func (t *Table[T]) after(slot int) int { return (slot + 1) & (len(t.slots) - 1) }
