package xdstest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A watch is a subscription to a Fake. It implements [resource.Observation] and
// [resource.CollectionObservation]. The source's mutex guards its fields.
type watch[S any] struct {
	f      *fakeSource
	remove func(*watch[S])
	queue  []S
	woken  chan struct{} // has a token when Next has to look again
	call   func(S)       // of a subscription: nil for watches that ask
	busy   bool          // a goroutine calls call
	ended  bool          // the Fake is closed
	gone   bool          // Stop was called
}

func newWatch[S any](f *fakeSource, remove func(*watch[S])) *watch[S] {
	return &watch[S]{f: f, remove: remove, woken: make(chan struct{}, 1)}
}

// add gives the watch a state.
func (w *watch[S]) add(s S) {
	w.queue = append(w.queue, s)
	w.wake()
}

// end makes the watch end once its queue is empty; a subscription ends at once.
func (w *watch[S]) end() {
	w.ended = true
	w.wake()
}

func (w *watch[S]) wake() {
	if w.call != nil && !w.busy && len(w.queue) > 0 {
		w.busy = true
		go w.run()
	}
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// each calls call for each state, on a goroutine that lives while there are some.
func (w *watch[S]) each(call func(S)) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.call = call
	w.wake()
}

func (w *watch[S]) run() {
	for {
		w.f.mu.Lock()
		if w.gone || w.ended || len(w.queue) == 0 {
			w.busy = false
			w.f.mu.Unlock()
			return
		}
		s := w.take()
		w.f.mu.Unlock()
		w.call(s)
	}
}

func (w *watch[S]) take() S {
	s := w.queue[0]
	w.queue = w.queue[1:]
	return s
}

// Next implements [resource.Observation] and [resource.CollectionObservation].
func (w *watch[S]) Next(ctx context.Context) (S, error) {
	for {
		if s, ok, err := w.poll(ctx); ok || err != nil {
			return s, err
		}
		select {
		case <-w.woken:
		case <-ctx.Done():
		}
	}
}

func (w *watch[S]) poll(ctx context.Context) (s S, ok bool, err error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return s, false, ctx.Err()
	case len(w.queue) > 0 && !w.gone:
		return w.take(), true, nil
	case w.ended || w.gone:
		return s, false, fmt.Errorf("xdstest: %w", resource.ErrClosed)
	}
	return s, false, nil
}

// Stop implements [resource.Observation] and [resource.CollectionObservation].
func (w *watch[S]) Stop() {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.gone = true
	w.remove(w)
	w.wake()
}

// A fakeShard has the updates of one type under the names of their events, which literals do not
// carry. It implements [resource.Shard].
type fakeShard struct {
	equal   resource.Shard // compares updates
	mu      sync.Mutex
	updates map[xdstp.Name]resource.Update
}

// set stores an update under a name. A nil update deletes.
func (s *fakeShard) set(n xdstp.Name, u resource.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u == nil {
		delete(s.updates, n)
		return
	}
	s.updates[n] = u
}

// Equal reports whether two updates are equal, wherever they come from.
func (s *fakeShard) Equal(a, b resource.Update) bool {
	e, ok := s.equal.(interface {
		Equal(a, b resource.Update) bool
	})
	return ok && e.Equal(a, b)
}

// Load implements [resource.Shard].
func (s *fakeShard) Load(n xdstp.Name) (resource.Update, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.updates[n]
	return u, ok
}

// Store implements [resource.Shard].
func (s *fakeShard) Store(u resource.Update) { s.set(u.Name(), u) }

// Delete implements [resource.Shard].
func (s *fakeShard) Delete(n xdstp.Name) { s.set(n, nil) }

// Len implements [resource.Shard].
func (s *fakeShard) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// All implements [resource.Shard].
func (s *fakeShard) All() iter.Seq[resource.Update] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Values(maps.Clone(s.updates))
}

// Referrers implements [resource.Shard].
func (s *fakeShard) Referrers(r resource.Ref) iter.Seq[resource.Update] {
	return func(yield func(resource.Update) bool) {
		for u := range s.All() {
			if slices.Contains(slices.Collect(u.Refs()), r) && !yield(u) {
				return
			}
		}
	}
}
