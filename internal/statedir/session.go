package statedir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/partial"
)

// kept is a source with the resources of a file until another source has reported its own.
type kept struct {
	inner source.Source
	old   atomic.Pointer[snapshot] // nil: there is none, or the source has reported all its resources
}

// Open implements [source.Source].
func (k *kept) Open(ctx context.Context, sink source.Sink) (source.Session, error) {
	old := k.old.Load()
	if old == nil {
		return k.inner.Open(ctx, sink)
	}
	memory := source.NewMemory()
	tx := old.accepted()
	if err := memory.CommitAt(ctx, tx, old.header.Epoch, source.Revision(old.header.Revision)); err != nil {
		return k.inner.Open(ctx, sink) // it is larger than this version accepts
	}
	s := &session{
		sink: sink, since: old.since, at: source.Change{Epoch: old.header.Epoch, Revision: old.header.Revision}, wanted: make(map[source.Interest]bool), told: make(map[source.Key]struct{}),
		got: make(map[source.Key]source.Resource),
	}
	memory.SetState(s.stale(errNotYet))
	oldCtx, cancel := context.WithCancel(ctx)
	s.endOld = cancel
	var err error
	if s.old, err = memory.Open(oldCtx, oldSink{s}); err == nil {
		s.inner, err = k.inner.Open(ctx, innerSink{s})
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return s, nil
}

var (
	errNotYet = errors.New("the source has not reported its resources yet")
	errOver   = errors.New("the session of the file is over")
)

// A session starts with the resources of a file, and goes over to those of a source.
type session struct {
	sink       source.Sink
	since      time.Time
	at         source.Change // has the epoch and the revision of the file
	old, inner source.Session
	endOld     context.CancelFunc

	calls sync.Mutex // of the sink: taken before mu

	mu       sync.Mutex               // not held during calls of the sink
	over     bool                     // the sink gets the changes of inner
	wanted   map[source.Interest]bool // true: inner has answered
	told     map[source.Key]struct{}  // resources that the sink has of the file
	state    source.State             // of inner
	got      map[source.Key]source.Resource
	epoch    string
	revision uint64
	// For Reached: changes that the sink applied of the file, those of inner that it applied meanwhile, and those of inner that
	// became one.
	before, overlaid, merged uint64
}

// stale returns the state of the resources of the file.
func (s *session) stale(reason error) source.State {
	return source.State{Kind: source.Stale, Since: s.since, Err: fmt.Errorf("resources of the state directory: %w", reason)}
}

// Want implements [source.Session].
func (s *session) Want(add, drop []source.Interest) {
	s.mu.Lock()
	over, old := s.over, s.old
	if !over {
		for _, i := range drop {
			delete(s.wanted, i)
		}
		for _, i := range add {
			if _, there := s.wanted[i]; !there {
				s.wanted[i] = false
			}
		}
	}
	s.mu.Unlock()
	s.inner.Want(add, drop)
	if over {
		return
	}
	old.Want(add, drop)
	if len(drop) > 0 {
		go s.try() // nothing else may be missing; the caller may hold locks of the sink
	}
}

// Report implements [source.Session].
func (s *session) Report(r source.Rejection) { s.inner.Report(r) }

// Reached reports whether the sink has everything up to a revision.
func (s *session) Reached(epoch string, revision, applied uint64) bool {
	s.mu.Lock()
	at := s.old
	applied -= s.overlaid
	if s.over {
		at = s.inner
		applied += s.merged - s.before - min(s.merged, 1)
	}
	s.mu.Unlock()
	p, ok := at.(interface {
		Reached(epoch string, revision, applied uint64) bool
	})
	return !ok || p.Reached(epoch, revision, applied)
}

// try goes over to the resources of inner if it has answered everything that the sink wants.
func (s *session) try() {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.mu.Lock()
	inPart := partial.IsEpoch(s.epoch) || s.epoch == "" && partial.Is(s.state)
	ready := !s.over && !inPart && (s.state.Kind == source.Live || s.state.Kind == source.Stale)
	for _, answered := range s.wanted {
		ready = ready && answered
	}
	if !ready {
		s.mu.Unlock()
		return
	}
	s.over = true
	ch := source.Change{Epoch: s.epoch, Revision: s.revision, Complete: slices.Collect(maps.Keys(s.wanted))}
	for k, r := range s.got {
		ch.Put = append(ch.Put, r)
		delete(s.told, k)
	}
	ch.Delete = slices.Collect(maps.Keys(s.told))
	state := s.state
	merged := s.merged > 0
	s.wanted, s.got, s.told, s.old = nil, nil, nil, nil
	s.mu.Unlock()
	s.endOld()
	s.sink.State(state)
	if merged {
		_ = s.sink.Apply(ch) // if the sink is closed, its session ends
	}
}

// oldSink is the sink of the resources of the file.
type oldSink struct{ *session }

// Apply implements [source.Sink].
func (o oldSink) Apply(ch source.Change) error {
	s := o.session
	s.calls.Lock()
	defer s.calls.Unlock()
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return errOver
	}
	s.before++
	sure := answers(&ch)
	for _, k := range ch.Delete {
		delete(s.told, k)
	}
	ch.Put = append(slices.Clone(ch.Put), partial.Unavailable(&ch, "the source of the server is unavailable, and its state directory does not have the resource")...)
	for i := range ch.Put {
		s.told[ch.Put[i].Key] = struct{}{}
		if r, ok := s.got[ch.Put[i].Key]; ok && partial.IsEpoch(s.epoch) && !partial.IsUnavailable(&r) {
			ch.Put[i] = r
		}
	}
	ch.Complete = sure
	s.mu.Unlock()
	return s.sink.Apply(ch)
}

// answers returns the interests that the file answers: the names that it has. It may lack the newest resources and those
// with secrets, so it can neither list a collection nor tell that a name does not exist.
func answers(ch *source.Change) (list []source.Interest) {
	has := partial.Names(ch)
	for _, i := range ch.Complete {
		if has[i] {
			list = append(list, i)
		}
	}
	return list
}

// State implements [source.Sink].
func (o oldSink) State(state source.State) {
	o.calls.Lock()
	defer o.calls.Unlock()
	o.mu.Lock()
	known := o.over || o.state.Kind != 0 // of inner, which knows a better reason
	o.mu.Unlock()
	if !known {
		o.sink.State(state)
	}
}

// innerSink is the sink of the source.
type innerSink struct{ *session }

// Apply implements [source.Sink].
func (i innerSink) Apply(ch source.Change) error {
	s := i.session
	s.calls.Lock()
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		defer s.calls.Unlock()
		return s.sink.Apply(ch)
	}
	if s.epoch != ch.Epoch {
		clear(s.got)
		for i := range s.wanted {
			s.wanted[i] = false
		}
	}
	s.epoch, s.revision = ch.Epoch, ch.Revision
	s.merged++
	for i := range ch.Put {
		s.got[ch.Put[i].Key] = ch.Put[i]
	}
	for _, k := range ch.Delete {
		delete(s.got, k)
	}
	for _, i := range ch.Complete {
		if _, ok := s.wanted[i]; ok {
			s.wanted[i] = true
		}
	}
	known := s.known(&ch)
	s.mu.Unlock()
	var err error
	if len(known.Put) > 0 {
		err = s.sink.Apply(known)
	}
	s.calls.Unlock()
	s.try()
	return err
}

// known returns the resources of a change of a source that knows only a part of its resources. They replace those of the
// file, which has the others. s.mu is held.
func (s *session) known(ch *source.Change) (known source.Change) {
	if !partial.IsEpoch(ch.Epoch) {
		return known
	}
	known.Epoch, known.Revision = s.at.Epoch, s.at.Revision
	for i := range ch.Put {
		if r := &ch.Put[i]; !partial.IsUnavailable(r) {
			known.Put = append(known.Put, *r)
			s.told[r.Key] = struct{}{}
		}
	}
	if len(known.Put) > 0 {
		s.overlaid++
	}
	return known
}

// State implements [source.Sink].
func (i innerSink) State(state source.State) {
	s := i.session
	s.calls.Lock()
	s.mu.Lock()
	s.state = state
	over := s.over
	s.mu.Unlock()
	switch {
	case over:
		s.sink.State(state)
	case state.Kind == source.Down:
		s.sink.State(s.stale(state.Err))
	case partial.Is(state):
		s.sink.State(s.stale(errors.New(state.Err.Error()))) // the file has the other resources
	}
	s.calls.Unlock()
	if !over {
		s.try()
	}
}
