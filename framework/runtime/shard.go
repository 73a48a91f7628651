package runtime

import (
	"iter"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Shard stores the updates of one type and one authority. It implements [resource.Shard], which
// defines the callers of each method.
type Shard[U resource.Update] struct {
	updates table[U]

	mu    sync.Mutex // held for map operations only
	index map[resource.Ref]map[xdstp.Name]struct{}
}

var _ resource.Shard = (*Shard[resource.Update])(nil)

// NewShard returns an empty shard.
func NewShard[U resource.Update]() *Shard[U] {
	s := new(Shard[U])
	s.updates.init()
	return s
}

// Get returns the update of a name. Any goroutine; no lock, no allocation.
func (s *Shard[U]) Get(name xdstp.Name) (U, bool) { return s.updates.load(name.String()) }

// Load is [Shard.Get] for callers that do not know the type.
func (s *Shard[U]) Load(name xdstp.Name) (resource.Update, bool) {
	u, ok := s.Get(name)
	if !ok {
		return nil, false
	}
	return u, true
}

// Len returns the number of updates. Any goroutine.
func (s *Shard[U]) Len() int { return int(s.updates.live.Load()) }

// All yields the updates in no particular order. Any goroutine.
func (s *Shard[U]) All() iter.Seq[resource.Update] {
	return func(yield func(resource.Update) bool) {
		for u := range s.updates.all() {
			if !yield(u) {
				return
			}
		}
	}
}

// Equal reports whether two updates have equal content. Any goroutine.
func (s *Shard[U]) Equal(a, b resource.Update) bool {
	x, ok := a.(interface{ Equal(u U) bool })
	y, isU := b.(U)
	return ok && isU && x.Equal(y)
}

// Store stores u under its name. Writer only.
func (s *Shard[U]) Store(u resource.Update) {
	old, had := s.updates.store(u.(U))
	if had && resource.Update(old) == u {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		return
	}
	if had {
		s.forget(old)
	}
	s.remember(u)
}

// Delete removes the update of a name. Writer only.
func (s *Shard[U]) Delete(name xdstp.Name) {
	old, had := s.Get(name)
	if !had {
		return
	}
	s.updates.delete(name.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil {
		s.forget(old)
	}
}

// Referrers yields the updates that refer to r. Any goroutine; the first call
// builds the index.
func (s *Shard[U]) Referrers(r resource.Ref) iter.Seq[resource.Update] {
	return func(yield func(resource.Update) bool) {
		for _, name := range s.referrers(r) {
			if u, ok := s.Get(name); ok && !yield(u) {
				return
			}
		}
	}
}

// referrers copies the names, so that no lock is held while a caller's code runs.
func (s *Shard[U]) referrers(r resource.Ref) []xdstp.Name {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		s.index = make(map[resource.Ref]map[xdstp.Name]struct{})
		for u := range s.updates.all() {
			s.remember(u)
		}
	}
	names := make([]xdstp.Name, 0, len(s.index[r]))
	for name := range s.index[r] {
		names = append(names, name)
	}
	return names
}

func (s *Shard[U]) remember(u resource.Update) {
	for r := range u.Refs() {
		names := s.index[r]
		if names == nil {
			names = make(map[xdstp.Name]struct{})
			s.index[r] = names
		}
		names[u.Name()] = struct{}{}
	}
}

func (s *Shard[U]) forget(u resource.Update) {
	for r := range u.Refs() {
		names := s.index[r]
		delete(names, u.Name())
		if len(names) == 0 {
			delete(s.index, r)
		}
	}
}
