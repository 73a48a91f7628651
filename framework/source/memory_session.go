package source

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// A memorySession is a [Session] of a [Memory]. The mutex of the Memory guards its fields.
type memorySession struct {
	memory *Memory
	sink   Sink
	ready  chan struct{} // has a token if there may be something to report

	wanted   map[Interest]struct{}
	pending  map[Key]*held // to report; with the resource that the reader may have, or the first one since then
	dropped  bool          // interests were dropped since the last change
	complete []Interest    // to report
	fills    []*fill       // of new interests in many resources
	changes  uint64        // handed to the sink so far
	states   int           // those of the memory that were reported
}

// Open implements [Source].
func (m *Memory) Open(ctx context.Context, sink Sink) (Session, error) {
	s := &memorySession{
		memory: m, sink: sink, ready: make(chan struct{}, 1),
		wanted: make(map[Interest]struct{}), pending: make(map[Key]*held),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[s] = struct{}{}
	s.notify()
	go s.run(ctx)
	return s, nil
}

// Want implements [Session].
func (s *memorySession) Want(add, drop []Interest) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.dropped = s.dropped || len(drop) > 0
	for _, i := range drop {
		delete(s.wanted, i)
		s.dropFill(i)
	}
	for _, i := range add {
		if _, ok := s.wanted[i]; ok {
			continue
		}
		s.wanted[i] = struct{}{}
		if keys := s.memory.many(i); keys != nil {
			s.fills = append(s.fills, &fill{interest: i, keys: keys})
			continue
		}
		s.complete = append(s.complete, i)
		s.memory.note(i, s.pending)
	}
	s.wake()
}

// Report implements [Session].
func (s *memorySession) Report(r Rejection) {
	s.memory.mu.Lock()
	report := s.memory.report
	s.memory.mu.Unlock()
	if report != nil {
		report(r)
	}
}

// Settled reports whether the sink has applied everything that there is to report, if it has applied
// this number of changes. Servers of tests wait for that.
func (s *memorySession) Settled(applied uint64) bool {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return !s.more() && s.changes == applied
}

// Reached reports whether the sink has applied everything up to a revision, if it has applied this number of
// changes. An empty epoch is that of the memory. Revisions of another epoch do not compare: Reached is true.
// Servers wait for that before they answer a client that has seen the revision elsewhere.
func (s *memorySession) Reached(epoch string, revision, applied uint64) bool {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	if !s.memory.used {
		return false
	}
	if epoch != "" && epoch != s.memory.epoch {
		return true
	}
	return uint64(s.memory.revision) >= revision && !s.more() && s.changes == applied
}

// note adds the keys of all resources of an interest.
func (m *Memory) note(i Interest, keys map[Key]*held) {
	if i == (Interest{}) {
		for url := range m.types {
			m.note(Interest{url, Everything}, keys)
		}
		return
	}
	t := m.types[i.Type]
	switch {
	case t == nil:
	case i.Name == Everything:
		for _, h := range t.held {
			first(keys, h)
		}
	case t.held[i.Name] != nil:
		first(keys, t.held[i.Name])
	default:
		for _, h := range t.collections[i.Name] {
			first(keys, h)
		}
		for _, name := range t.aliases[i.Name] {
			first(keys, t.held[name])
		}
	}
}

// first notes a resource, unless an earlier one of its name is noted.
func first(keys map[Key]*held, h *held) {
	if _, ok := keys[h.Key]; !ok {
		keys[h.Key] = h
	}
}

// wants reports whether a resource belongs to an interest of the session.
func (s *memorySession) wants(h *held) bool {
	has := func(name string) bool {
		_, ok := s.wanted[Interest{h.Type, name}]
		return ok
	}
	_, all := s.wanted[Interest{}]
	return all || has(h.Name) || has(h.collection) || has(Everything) || slices.ContainsFunc(h.Aliases, has)
}

// wake lets the session look for something to report.
func (s *memorySession) wake() {
	if s.more() {
		s.notify()
	}
}

// more reports whether there is something to report.
func (s *memorySession) more() bool { return len(s.pending)+len(s.complete)+len(s.fills) > 0 }

func (s *memorySession) notify() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// run reports to the sink until ctx ends.
func (s *memorySession) run(ctx context.Context) {
	defer func() {
		s.memory.mu.Lock()
		defer s.memory.mu.Unlock()
		delete(s.memory.sessions, s)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.ready:
		}
		state, changed, used := s.newState()
		if changed {
			s.sink.State(state)
		}
		if !used {
			continue
		}
		s.sortFill()
		if c, ok := s.change(); ok && s.sink.Apply(c) != nil {
			return
		}
	}
}

// newState returns the state, whether it has to be reported, and whether the resources may be.
func (s *memorySession) newState() (state State, changed, used bool) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	changed = s.memory.states != s.states && s.memory.state.Kind != 0
	s.states = s.memory.states
	return s.memory.state, changed, s.memory.used
}

// change returns all that is to be reported. The resources are in the order of their keys.
func (s *memorySession) change() (c Change, ok bool) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	if !s.more() {
		return c, false
	}
	s.takeFill()
	dropped := func(i Interest) bool { _, ok := s.wanted[i]; return !ok } // since it was added
	c = Change{Epoch: s.memory.epoch, Revision: uint64(s.memory.revision), Complete: slices.DeleteFunc(s.complete, dropped)}
	s.forget()
	now := time.Now()
	for _, k := range slices.SortedFunc(maps.Keys(s.pending), compareKeys) {
		t := s.memory.types[k.Type]
		if h := t.held[k.Name]; h != nil && h.alive(now) {
			c.Put = append(c.Put, h.Resource)
		} else {
			c.Delete = append(c.Delete, k)
		}
	}
	s.complete, s.pending = nil, make(map[Key]*held)
	s.changes++
	s.wake()
	return c, true
}

// forget drops the resources that belong to no interest any longer. A resource that ends after that is none of the reader's business: a
// relay forgets the resources that nobody wants, and the reader may have one by a collection that the relay does not know yet.
func (s *memorySession) forget() {
	if !s.dropped {
		return
	}
	s.dropped = false
	maps.DeleteFunc(s.pending, func(k Key, first *held) bool {
		now := s.memory.types[k.Type].held[k.Name]
		return !s.wants(first) && (now == nil || !s.wants(now))
	})
}

func compareKeys(a, b Key) int {
	if c := strings.Compare(a.Type, b.Type); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}
