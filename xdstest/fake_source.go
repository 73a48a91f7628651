package xdstest

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// fakeSource is the [resource.Source] of a Fake. A watch has an unbounded queue.
type fakeSource struct {
	mu          sync.Mutex
	types       *resource.Set
	states      map[resource.Ref]resource.State
	shards      map[*resource.Descriptor]*fakeShard
	watches     map[*watch[resource.State]]resource.Ref
	collections map[*watch[resource.CollectionState]]resource.Ref
	closed      bool
}

var _ resource.Source = (*fakeSource)(nil)

func newFakeSource() *fakeSource {
	return &fakeSource{
		types: new(resource.Set), states: make(map[resource.Ref]resource.State),
		shards:      make(map[*resource.Descriptor]*fakeShard),
		watches:     make(map[*watch[resource.State]]resource.Ref),
		collections: make(map[*watch[resource.CollectionState]]resource.Ref),
	}
}

// learn adds a type, and returns its shard.
func (f *fakeSource) learn(d *resource.Descriptor) *fakeShard {
	if s, ok := f.shards[d]; ok {
		return s
	}
	if set, err := f.types.With(d); err == nil { // otherwise, another type has the name
		f.types = set
	}
	s := &fakeShard{equal: d.NewShard(), updates: make(map[xdstp.Name]resource.Update)}
	f.shards[d] = s
	return s
}

// emit gives a state to the watches of a name.
func (f *fakeSource) emit(d *resource.Descriptor, n xdstp.Name, s resource.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ref := resource.Ref{Type: d.Name, Name: n}
	last := f.states[ref].Update
	f.states[ref] = s
	f.learn(d).set(n, s.Update)
	for w, of := range f.watches {
		if of == ref {
			w.add(s)
		}
	}
	for w, of := range f.collections {
		if of.Type == d.Name && contains(of.Name, n) {
			w.add(resource.CollectionState{Synced: true, Members: []resource.MemberState{{Name: n, State: s, Last: last}}})
		}
	}
}

// collection gives a state of a collection as a whole to its watches.
func (f *fakeSource) collection(d *resource.Descriptor, n xdstp.Name, s resource.CollectionState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w, of := range f.collections {
		if of == (resource.Ref{Type: d.Name, Name: n}) {
			s.Synced = true
			w.add(s)
		}
	}
}

func (f *fakeSource) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for w := range f.watches {
		w.end()
	}
	for w := range f.collections {
		w.end()
	}
}

// ParseName implements [resource.Source].
func (f *fakeSource) ParseName(s string) (xdstp.Name, error) { return xdstp.Parse(s) }

// Types implements [resource.Source].
func (f *fakeSource) Types() *resource.Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.types
}

// Shard implements [resource.Source]. A type has one shard for all authorities.
func (f *fakeSource) Shard(d *resource.Descriptor, _ xdstp.Name) resource.Shard {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.learn(d)
}

// Shards implements [resource.Source].
func (f *fakeSource) Shards(d *resource.Descriptor) iter.Seq[resource.Shard] {
	return slices.Values([]resource.Shard{f.Shard(d, xdstp.Name{})})
}

// Observe implements [resource.Source].
func (f *fakeSource) Observe(d *resource.Descriptor, name string) (resource.Observation, error) {
	return f.watch(d, name)
}

func (f *fakeSource) watch(d *resource.Descriptor, name string) (*watch[resource.State], error) {
	n, err := xdstp.Parse(name)
	if err == nil {
		err = n.CheckType(d.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("xdstest: watching a resource of the type %s: %w", d.ShortName(), err)
	}
	if isCollection(n) {
		return nil, fmt.Errorf("xdstest: %q is a collection of the type %s: use WatchCollection", name, d.ShortName())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("xdstest: %w", resource.ErrClosed)
	}
	f.learn(d)
	w := newWatch(f, func(w *watch[resource.State]) { delete(f.watches, w) })
	ref := resource.Ref{Type: d.Name, Name: n}
	f.watches[w] = ref
	if s, ok := f.states[ref]; ok {
		w.add(s)
	}
	return w, nil
}

// ObserveCollection implements [resource.Source].
func (f *fakeSource) ObserveCollection(d *resource.Descriptor, name string) (resource.CollectionObservation, error) {
	n, err := xdstp.Parse(name)
	if err == nil {
		err = n.CheckType(d.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("xdstest: watching a collection of the type %s: %w", d.ShortName(), err)
	}
	if !isCollection(n) || n.IsGlob() && !d.Globs || !n.IsGlob() && !d.Wildcard {
		return nil, errCannot(d, name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("xdstest: %w", resource.ErrClosed)
	}
	f.learn(d)
	w := newWatch(f, func(w *watch[resource.CollectionState]) { delete(f.collections, w) })
	f.collections[w] = resource.Ref{Type: d.Name, Name: n}
	w.add(f.members(d, n))
	return w, nil
}

// members returns the first state of a collection: its members, ordered by name.
func (f *fakeSource) members(d *resource.Descriptor, collection xdstp.Name) resource.CollectionState {
	first := resource.CollectionState{Synced: true}
	for ref, s := range f.states {
		if ref.Type == d.Name && s.Update != nil && contains(collection, ref.Name) {
			first.Members = append(first.Members, resource.MemberState{Name: ref.Name, State: s})
		}
	}
	slices.SortFunc(first.Members, func(a, b resource.MemberState) int {
		return strings.Compare(a.Name.String(), b.Name.String())
	})
	return first
}

// Subscribe implements [resource.Source].
func (f *fakeSource) Subscribe(d *resource.Descriptor, name string, call func(next, last resource.State)) (stop func(), err error) {
	return f.SubscribeAsync(d, name, func(next, last resource.State, done func()) {
		defer done()
		call(next, last)
	})
}

// SubscribeAsync implements [resource.Source].
func (f *fakeSource) SubscribeAsync(d *resource.Descriptor, name string, call func(next, last resource.State, done func())) (stop func(), err error) {
	w, err := f.watch(d, name)
	if err != nil {
		return nil, err
	}
	var last resource.State
	w.each(func(s resource.State) {
		call(s, last, func() {})
		last = s
	})
	return w.Stop, nil
}
