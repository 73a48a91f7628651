package runtime

import (
	"hash/maphash"
	"iter"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A table is a hash table of values by their names, for one writer and any number of lock-free readers.
// On a collision, it uses the next slot. An entry is immutable. A new value of a known name is a
// new entry in the same slot. A tombstone replaces a deleted entry. A later entry may take its
// slot. Growing or removing tombstones makes a new slice of slots.
//
// An entry takes 29 bytes on average, and one of a sync.Map 120. With that, a resource and its watcher would
// exceed their bound of 1,250 bytes by far. Slots without entries, which hold the hash and the value, save 6 bytes and
// an allocation of 16, but no processor time.
type table[V named] struct {
	seed  maphash.Seed
	slots atomic.Pointer[[]atomic.Pointer[entry[V]]]
	live  atomic.Int64 // number of entries
	used  int          // entries and tombstones; the writer's
	tomb  entry[V]     // the tombstone
}

// A named value does not change its name.
type named interface{ Name() xdstp.Name }

// An entry has no key of its own, which would take another 16 bytes: its value has the name.
type entry[V named] struct {
	value V
	hash  uint32
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
		if _, e := t.find(*slots, t.hash(key), key); e != nil {
			return e.value, true
		}
	}
	var none V
	return none, false
}

// find returns the entry of key and its slot. Without an entry, it returns the slot for it and nil.
// There is always an empty slot. Readers use the returned entry: when they look again, that slot may
// have another key's.
func (t *table[V]) find(slots []atomic.Pointer[entry[V]], hash uint32, key string) (int, *entry[V]) {
	mask := uint32(len(slots) - 1) //nolint:gosec // there are slots, and fewer than hashes
	free := -1
	for i := hash & mask; ; i = (i + 1) & mask {
		switch e := slots[i].Load(); {
		case e == nil && free < 0:
			return int(i), nil
		case e == nil:
			return free, nil
		case e == &t.tomb:
			if free < 0 {
				free = int(i)
			}
		case e.hash == hash && e.value.Name().String() == key:
			return int(i), e
		}
	}
}

// store sets the value of its name, and returns the previous value, if any. It does nothing if that
// is the same. Writer only.
func (t *table[V]) store(value V) (old V, had bool) {
	slots := t.reserve()
	key := value.Name().String()
	hash := t.hash(key)
	i, e := t.find(slots, hash, key)
	if e == nil {
		t.live.Add(1)
		if slots[i].Load() == nil {
			t.used++
		}
	} else if old, had = e.value, true; named(old) == named(value) {
		return old, had
	}
	slots[i].Store(&entry[V]{hash: hash, value: value})
	return old, had
}

// delete removes key. Writer only.
func (t *table[V]) delete(key string) {
	p := t.slots.Load()
	if p == nil {
		return
	}
	slots := *p
	i, old := t.find(slots, t.hash(key), key)
	if old == nil {
		return
	}
	slots[i].Store(&t.tomb)
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
	slots, mask := make([]atomic.Pointer[entry[V]], size), uint32(size-1) //nolint:gosec // fewer slots than hashes
	t.used = 0
	if old := t.slots.Load(); old != nil {
		for i := range *old {
			if e := (*old)[i].Load(); e != nil && e != &t.tomb {
				at := e.hash & mask
				for slots[at].Load() != nil { // all names differ
					at = (at + 1) & mask
				}
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
			if e := (*p)[i].Load(); e != nil && e != &t.tomb && !yield(e.value) {
				return
			}
		}
	}
}
