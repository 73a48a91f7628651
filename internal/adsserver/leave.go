package adsserver

import (
	"slices"
	"time"
)

// removalLimit is the limit of the wait of a removal, for clients that do not answer, and for changes without an end.
const removalLimit = 5 * time.Second

// A departure is the wait of the removals of a stream, if there is a Config.RemovalPause. A client that has received the
// change of a route may have to ask for the new cluster and for its endpoints. Until then, it uses the old ones. Removals
// therefore wait until
//
//   - the client has answered all responses,
//   - the sources have answered all its names, and
//   - there was no message and no other removal during the pause. Endpoints do not count: they change all the time.
//
// They wait at most for [removalLimit]. A client that unsubscribes meanwhile hears of no removal.
type departure struct {
	first   int64 // when the first waiting removal was noted, in ns since 1970; 0: none waits
	last    int64 // when the last one was
	active  int64 // when the last message was sent or received
	leaving bool  // the wait is over
}

// removes notes a removal.
func (st *Stream) removes() {
	if st.core.config.RemovalPause <= 0 {
		return
	}
	d := &st.departure
	d.last = st.core.clock()
	d.leaving = false
	if d.first == 0 {
		d.first = d.last
	}
}

// waits reports whether removals wait.
func (d *departure) waits() bool { return d.first != 0 && !d.leaving }

// act notes a message about a type.
func (st *Stream) act(k *kind) {
	if k.rank != rankEndpoints {
		st.departure.active = st.core.clock()
	}
}

// defers reports whether removals have to wait, and releases them otherwise.
func (st *Stream) defers() bool {
	d := &st.departure
	if !d.waits() {
		return false
	}
	if time.Now().UnixNano() < st.departs() {
		return true
	}
	d.leaving = true
	for _, s := range st.kinds {
		s.releaseHeld()
	}
	return false
}

// departs returns when the removals may be sent, in ns since 1970.
func (st *Stream) departs() int64 {
	d := &st.departure
	end := d.first + int64(removalLimit)
	for _, s := range st.kinds {
		if max(s.acked, s.nacked) < s.nonce || s.waiting > 0 {
			return end
		}
	}
	return min(end, max(d.last, d.active)+int64(st.core.config.RemovalPause))
}

// departed ends the wait if no removal is left. Otherwise it returns a channel that receives when the stream looks
// again.
func (st *Stream) departed() <-chan time.Time {
	d := &st.departure
	if d.first == 0 {
		return nil
	}
	left := slices.ContainsFunc(st.kinds, func(s *substream) bool { return s.gone || s.later })
	switch {
	case !left:
		d.first, d.leaving = 0, false
		return nil
	case d.leaving:
		return nil // an event lets the others leave
	}
	return time.NewTimer(time.Until(time.Unix(0, st.departs()))).C
}

// hold keeps the removal of a resource that the client has until the end of the wait.
func (s *substream) hold(e *entry) {
	s.later = true
	if len(s.held) == cap(s.held) && len(s.held) > 2*s.subs.n {
		s.held = s.trim(s.held) // a resource that comes and goes must not make it grow
	}
	s.held = append(s.held, e)
}

// releaseHeld has the removals sent that have waited.
func (s *substream) releaseHeld() {
	if !s.later {
		return
	}
	s.later = false
	s.gone = s.gone || s.stream.delta || s.lost()
	s.dirty = append(s.dirty, s.held...)
	s.held = nil
}

// lost reports whether the client has a removed resource.
func (s *substream) lost() bool {
	for p := range s.subs.all() {
		if p.stamp != 0 && !p.shown() {
			return true
		}
	}
	return false
}

// deferWhole handles the absent names of a complete type in state of the world while removals wait. It returns the
// answer to subscriptions to names that do not exist, or nil.
func (s *substream) deferWhole() [][]byte {
	if s.waiting > 0 {
		return nil
	}
	for _, e := range s.dirty {
		if p := s.find(e); p != nil && !p.shown() && (p.stamp == 0 || e.kept == nil) {
			return s.buildWhole(true)
		}
	}
	for _, l := range s.lists {
		if !l.told && l.list.complete {
			return s.buildWhole(true)
		}
	}
	s.dirty = shrink(s.dirty)
	s.gone, s.later = false, true
	return nil
}
