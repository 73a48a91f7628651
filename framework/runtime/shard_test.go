package runtime

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

const refType = "test.Leaf"

type update struct {
	resource.Meta
	value int
}

func name(tb testing.TB, s string) xdstp.Name {
	tb.Helper()
	n, err := xdstp.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// newUpdate returns an update that refers to leaves.
func newUpdate(tb testing.TB, s string, value int, leaves ...string) *update {
	tb.Helper()
	dc := resource.DecodeContext{Name: name(tb, s)}
	u := &update{Meta: dc.Meta([]byte(fmt.Sprint(s, value))), value: value}
	var v resource.Violations
	for _, leaf := range leaves {
		dc.Ref(&u.Meta, &v, resource.Path{}, refType, &leaf)
	}
	return u
}

func TestStoreLoadDelete(t *testing.T) {
	s := NewShard[*update]()
	n := name(t, "a")
	if _, ok := s.Load(n); ok {
		t.Error("an empty shard holds something")
	}
	s.Delete(n)
	u := newUpdate(t, "a", 1)
	s.Store(u)
	if got, ok := s.Get(n); !ok || got != u {
		t.Errorf("Get = %v, %v", got, ok)
	}
	v := newUpdate(t, "a", 2)
	s.Store(v)
	if got, _ := s.Load(n); got != v || s.Len() != 1 {
		t.Errorf("Load = %v, Len = %d", got, s.Len())
	}
	s.Delete(n)
	if _, ok := s.Load(n); ok || s.Len() != 0 {
		t.Errorf("still there after Delete; Len = %d", s.Len())
	}
	s.Store(u)
	if got, ok := s.Load(n); !ok || got != u || s.Len() != 1 {
		t.Errorf("after storing again: %v, %v, Len = %d", got, ok, s.Len())
	}
	if allocs := testing.AllocsPerRun(10, func() { s.Store(u) }); allocs != 0 || s.Len() != 1 {
		t.Errorf("storing the stored update takes %v allocations, Len = %d; want neither an entry nor another value", allocs, s.Len())
	}
}

// A shard equals a map after any sequence of operations.
func TestShardAgreesWithAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s, model := NewShard[*update](), make(map[string]*update)
	for i := range 50000 {
		key := fmt.Sprint("n", r.IntN(500))
		if i > 40000 {
			key = fmt.Sprint("n", r.IntN(20)) // empty it, so that it shrinks
		}
		if r.IntN(3) == 0 || i > 40000 && r.IntN(4) > 0 {
			s.Delete(name(t, key))
			delete(model, key)
		} else {
			u := newUpdate(t, key, i)
			s.Store(u)
			model[key] = u
		}
		if s.Len() != len(model) {
			t.Fatalf("step %d: Len = %d, want %d", i, s.Len(), len(model))
		}
		probe := fmt.Sprint("n", r.IntN(500))
		if got, ok := s.Get(name(t, probe)); ok != (model[probe] != nil) || got != model[probe] {
			t.Fatalf("step %d: Get(%s) = %v, %v; want %v", i, probe, got, ok, model[probe])
		}
	}
	seen := 0
	for u := range s.All() {
		if model[u.Name().String()] != u {
			t.Fatalf("All yields %v", u.Name())
		}
		seen++
	}
	if seen != len(model) {
		t.Errorf("All yields %d, want %d", seen, len(model))
	}
}

// Readers find under every name only updates that were stored under it.
func TestReadersNeedNoLock(t *testing.T) {
	s := NewShard[*update]()
	var names []xdstp.Name
	for i := range 64 {
		names = append(names, name(t, fmt.Sprint("n", i)))
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, n := range names {
					if u, ok := s.Get(n); ok && u.Name() != n {
						t.Errorf("Get(%v) = %v", n, u.Name())
						return
					}
				}
				for range s.All() {
				}
				for range s.Referrers(resource.Ref{Type: refType, Name: name(t, "leaf")}) {
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 20000 {
		if n := names[r.IntN(len(names))]; r.IntN(2) == 0 {
			s.Store(newUpdate(t, n.String(), i, "leaf"))
		} else {
			s.Delete(n)
		}
	}
	close(done)
	readers.Wait()
}

// Get does not find a missing name, whatever value is in the slot where its search ends.
func TestWhatIsNotThereIsNotFound(t *testing.T) {
	s := NewShard[*update]()
	absent := make([]xdstp.Name, 64)
	for i := range absent {
		absent[i] = name(t, fmt.Sprint("absent", i))
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, n := range absent {
					if u, ok := s.Get(n); ok {
						t.Errorf("Get(%v) = %v", n, u.Name())
						return
					}
				}
			}
		})
	}
	updates := make([]*update, 256)
	for i := range updates {
		updates[i] = newUpdate(t, fmt.Sprint("n", i), i)
	}
	for range 500 {
		for _, u := range updates {
			s.Store(u)
		}
		for _, u := range updates {
			s.Delete(u.Name())
		}
	}
	close(done)
	readers.Wait()
}

// TestPresentNamesAreFound expects readers to find names that stay, while others take slots, leave them and
// make the shard grow and shrink. The others are stored first, so that some searches pass their tombstones.
func TestPresentNamesAreFound(t *testing.T) {
	s := NewShard[*update]()
	others := make([]*update, 256)
	for i := range others {
		others[i] = newUpdate(t, fmt.Sprint("n", i), i)
		s.Store(others[i])
	}
	present := make([]*update, 64)
	for i := range present {
		present[i] = newUpdate(t, fmt.Sprint("present", i), i)
		s.Store(present[i])
	}
	find := func() bool {
		for _, want := range present {
			if u, ok := s.Get(want.Name()); !ok || u != want {
				t.Errorf("Get(%v) = %v, %t", want.Name(), u, ok)
				return false
			}
		}
		return true
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for find() {
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range 500 {
		for k, u := range others {
			s.Delete(u.Name())
			if i == 0 && k%16 == 0 && !find() {
				break
			}
		}
		for _, u := range others {
			s.Store(u)
		}
	}
	close(done)
	readers.Wait()
}

func TestReferrersFollowTheUpdates(t *testing.T) {
	s := NewShard[*update]()
	referrers := func(leaf string) (names []string) {
		for u := range s.Referrers(resource.Ref{Type: refType, Name: name(t, leaf)}) {
			names = append(names, u.Name().String())
		}
		slices.Sort(names)
		return names
	}
	s.Store(newUpdate(t, "before", 0, "x", "y")) // before the index exists
	if got := referrers("x"); !slices.Equal(got, []string{"before"}) {
		t.Errorf("referrers of x = %v", got)
	}
	s.Store(newUpdate(t, "after", 0, "x"))
	if got := referrers("x"); !slices.Equal(got, []string{"after", "before"}) {
		t.Errorf("referrers of x = %v", got)
	}
	s.Store(newUpdate(t, "before", 1, "y"))
	if got := referrers("x"); !slices.Equal(got, []string{"after"}) {
		t.Errorf("referrers of x after a change = %v", got)
	}
	s.Delete(name(t, "before"))
	if got := referrers("y"); got != nil {
		t.Errorf("referrers of y after a delete = %v", got)
	}
	if len(s.index) != 1 {
		t.Errorf("the index holds %d refs, want 1", len(s.index))
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	s := NewShard[*update]()
	n := name(t, "a")
	s.Store(newUpdate(t, "a", 1))
	if allocs := testing.AllocsPerRun(100, func() { s.Get(n) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// BenchmarkGet compares a lookup with one in a plain map behind an atomic pointer. The difference
// is the price that readers pay for updates in place.
func BenchmarkGet(b *testing.B) {
	s, m := NewShard[*update](), make(map[string]*update)
	var names []xdstp.Name
	for i := range 10000 {
		u := newUpdate(b, fmt.Sprint("cluster-", i), i)
		s.Store(u)
		m[u.Name().String()] = u
		names = append(names, u.Name())
	}
	b.Run("shard", func(b *testing.B) {
		i := 0
		for b.Loop() {
			s.Get(names[i%len(names)])
			i++
		}
	})
	b.Run("map", func(b *testing.B) {
		i := 0
		for b.Loop() {
			_ = m[names[i%len(names)].String()]
			i++
		}
	})
}
