package runtime

import (
	"hash/maphash"
	"iter"
	"sync/atomic"
)

// A table is a hash table from names to values for one writer and any number of lock-free readers.
// On a collision, it uses the next slot. An entry is immutable. A new value of a known name is a
// new entry in the same slot, and a deleted entry becomes a tombstone. Growing or removing
// tombstones makes a new slice of slots.
type table[V any] struct {
	seed  maphash.Seed
	slots atomic.Pointer[[]atomic.Pointer[entry[V]]]
	live  atomic.Int64 // entries that are not tombstones
	used  int          // entries and tombstones; the writer's
}

type entry[V any] struct {
	key   string
	value V
	hash  uint32
	dead  bool
}

const minSlots = 8

func (t *table[V]) init() { t.seed = maphash.MakeSeed() }

// hash returns the part of a key's hash that entries store and that selects slots.
func (t *table[V]) hash(key string) uint32 {
	return uint32(maphash.String(t.seed, key)) //nolint:gosec // its lower half
}

// load returns the value of key. It may be called from any goroutine.
func (t *table[V]) load(key string) (V, bool) {
	if slots := t.slots.Load(); slots != nil {
		if _, e := find(*slots, t.hash(key), key); e != nil && !e.dead {
			return e.value, true
		}
	}
	var none V
	return none, false
}

// find returns the slot of key and its entry, or the slot where its search ends and nil. There is
// always an empty slot. Readers use the returned entry: when they look again, that slot may have
// another key's.
func find[V any](slots []atomic.Pointer[entry[V]], hash uint32, key string) (int, *entry[V]) {
	mask := uint32(len(slots) - 1) //nolint:gosec // there are slots, and fewer than hashes
	for i := hash & mask; ; i = (i + 1) & mask {
		e := slots[i].Load()
		if e == nil || e.hash == hash && e.key == key {
			return int(i), e
		}
	}
}

// store sets the value of key. Writer only.
func (t *table[V]) store(key string, value V) {
	slots := t.reserve()
	hash := t.hash(key)
	i, old := find(slots, hash, key)
	switch {
	case old == nil:
		t.used++
		t.live.Add(1)
	case old.dead:
		t.live.Add(1)
	}
	slots[i].Store(&entry[V]{hash: hash, key: key, value: value})
}

// delete removes key. Writer only.
func (t *table[V]) delete(key string) {
	p := t.slots.Load()
	if p == nil {
		return
	}
	slots := *p
	hash := t.hash(key)
	i, old := find(slots, hash, key)
	if old == nil || old.dead {
		return
	}
	slots[i].Store(&entry[V]{hash: hash, key: key, dead: true})
	live := t.live.Add(-1)
	if len(slots) > minSlots && int(live) < len(slots)/8 {
		t.rebuild(int(live))
	}
}

// reserve makes room for one more entry and returns the slots to write to.
func (t *table[V]) reserve() []atomic.Pointer[entry[V]] {
	p := t.slots.Load()
	if p == nil || (t.used+1)*4 > len(*p)*3 {
		t.rebuild(int(t.live.Load()) + 1)
		p = t.slots.Load()
	}
	return *p
}

// rebuild replaces the slots by at least twice as many as n entries need, and drops the tombstones.
func (t *table[V]) rebuild(n int) {
	size := minSlots
	for size < 2*n {
		size *= 2
	}
	slots := make([]atomic.Pointer[entry[V]], size)
	t.used = 0
	if old := t.slots.Load(); old != nil {
		for i := range *old {
			if e := (*old)[i].Load(); e != nil && !e.dead {
				at, _ := find(slots, e.hash, e.key)
				slots[at].Store(e)
				t.used++
			}
		}
	}
	t.slots.Store(&slots)
}

// all yields the values that are in the table at some moment during the iteration.
func (t *table[V]) all() iter.Seq[V] {
	return func(yield func(V) bool) {
		p := t.slots.Load()
		if p == nil {
			return
		}
		for i := range *p {
			if e := (*p)[i].Load(); e != nil && !e.dead && !yield(e.value) {
				return
			}
		}
	}
}
