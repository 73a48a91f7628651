package filters_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A record has the events of a test.
type record struct{ events []string }

func (r *record) add(format string, args ...any) {
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *record) want(t *testing.T, step string, want ...string) {
	t.Helper()
	if !slices.Equal(r.events, want) {
		t.Errorf("%s: events %q; want %q", step, r.events, want)
	}
	r.events = nil
}

type instance struct {
	*record
	name string
}

func (i *instance) Close() { i.add("close %s", i.name) }

// take takes an instance and adds an interceptor to a set.
func take(t *testing.T, r *record, s *filters.Set[*instance], name string) *instance {
	t.Helper()
	i, err := s.Instance(filters.Key{Name: name}, func() (*instance, error) {
		r.add("create %s", name)
		return &instance{r, name}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.OnEnd(func() { r.add("end of %s", name) })
	return i
}

// An instance survives an update that has its entry, and ends after the last set that has it.
func TestInstancesSurviveUpdates(t *testing.T) {
	var h filters.Holder[*instance]
	var r record
	first := h.Begin()
	a := take(t, &r, first, "a")
	take(t, &r, first, "b")
	r.want(t, "first set", "create a", "create b")
	second := h.Begin()
	if take(t, &r, second, "a") != a {
		t.Error("an update creates another instance of the entry; want the same")
	}
	r.want(t, "second set")
	first.Release()
	r.want(t, "release of the first set", "end of b", "end of a", "close b")
	second.Release()
	r.want(t, "release of the second set", "end of a", "close a")
	if n := h.Len(); n != 0 {
		t.Errorf("the holder has %d instances at the end; want 0", n)
	}
}

// A set ends after its last call, even if the configuration was replaced before.
func TestCallsKeepTheirSet(t *testing.T) {
	var h filters.Holder[*instance]
	var r record
	s := h.Begin()
	take(t, &r, s, "a")
	for range 2 {
		if !s.Acquire() {
			t.Fatal("a call cannot acquire the set in use")
		}
	}
	s.Release()
	s.Release()
	r.want(t, "while a call runs", "create a")
	if !s.Acquire() {
		t.Error("a call that is in flight cannot acquire the set again")
	}
	s.Release()
	s.Release()
	r.want(t, "after the last call", "end of a", "close a")
	if s.Acquire() {
		t.Error("a call acquires a set that has ended")
	}
}

// A set may use an entry twice.
func TestEntryTwiceInASet(t *testing.T) {
	var h filters.Holder[*instance]
	var r record
	s := h.Begin()
	if first, second := take(t, &r, s, "a"), take(t, &r, s, "a"); first != second {
		t.Error("a set has two instances of an entry")
	}
	s.Release()
	r.want(t, "all events", "create a", "end of a", "end of a", "close a")
}

// Entries differ by chain, name and message.
func TestKeys(t *testing.T) {
	var h filters.Holder[*instance]
	s := h.Begin()
	defer s.Release()
	seen := make(map[*instance]bool)
	for _, key := range []filters.Key{
		{Name: "a", Message: "m"},
		{Name: "b", Message: "m"},
		{Name: "a", Message: "n"},
		{Chain: "c", Name: "a", Message: "m"},
		{Chain: new(int), Name: "a", Message: "m"},
	} {
		i, err := s.Instance(key, func() (*instance, error) { return &instance{record: new(record)}, nil })
		if err != nil || seen[i] {
			t.Errorf("key %v has the instance of another key (%v)", key, err)
		}
		seen[i] = true
	}
}

// An instance that cannot be created is not kept. The next set tries again.
func TestErrorOfAnInstance(t *testing.T) {
	var h filters.Holder[*instance]
	broken := errors.New("broken")
	first := h.Begin()
	if _, err := first.Instance(filters.Key{}, func() (*instance, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v; want %v", err, broken)
	}
	if n := h.Len(); n != 0 {
		t.Errorf("the holder keeps %d broken instances", n)
	}
	var r record
	second := h.Begin()
	take(t, &r, second, "")
	first.Release()
	r.want(t, "second set", "create ")
	second.Release()
	r.want(t, "end", "end of ", "close ")
}

// A checked is an instance that detects uses after its end.
type checked struct {
	open    *atomic.Int64
	closed  atomic.Bool
	failure func(string)
}

func (c *checked) Close() {
	if c.closed.Swap(true) {
		c.failure("an instance is closed twice")
	}
	c.open.Add(-1)
}

// Calls never see a closed instance or interceptor while configurations are replaced, and nothing is left at the end.
func TestUpdatesUnderCalls(t *testing.T) {
	var h filters.Holder[*checked]
	var open atomic.Int64
	type generation struct {
		set         *filters.Set[*checked]
		instance    *checked
		interceptor atomic.Bool // closed
	}
	fail := func(text string) { t.Error(text) }
	begin := func(n int) *generation {
		g := &generation{set: h.Begin()}
		var err error
		g.instance, err = g.set.Instance(filters.Key{Name: fmt.Sprint(n / 100)}, func() (*checked, error) {
			open.Add(1)
			return &checked{open: &open, failure: fail}, nil
		})
		if err != nil {
			t.Error(err)
		}
		g.set.OnEnd(func() {
			if g.interceptor.Swap(true) || g.instance.closed.Load() {
				fail("an interceptor is closed twice, or after its instance")
			}
		})
		return g
	}
	var current atomic.Pointer[generation]
	current.Store(begin(0))
	var stop atomic.Bool
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for !stop.Load() {
				g := current.Load()
				if !g.set.Acquire() {
					continue // another configuration is in use
				}
				if g.interceptor.Load() || g.instance.closed.Load() {
					fail("a call has a closed interceptor or instance")
				}
				g.set.Release()
			}
		})
	}
	for n := range 10_000 {
		current.Swap(begin(n)).set.Release()
	}
	stop.Store(true)
	calls.Wait()
	current.Load().set.Release()
	if n, m := open.Load(), h.Len(); n != 0 || m != 0 {
		t.Errorf("%d instances are open and the holder has %d; want none", n, m)
	}
}
