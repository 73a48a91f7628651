package client

import (
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/authority"
)

// A reading says whether a stream's goroutine waits for a response or is at work on one:
// decoding it, or waiting until it is applied and watchers had their time. What the control
// plane has sent meanwhile is not read, so the does-not-exist timers stand still: those of
// the response's type, and those of the others, whose responses are behind it.
//
// The goroutine notes it without telling the loop, which asks when a timer is due or is to
// be started. Small responses cost nothing that way.
type reading struct {
	born   time.Time
	since  atomic.Int64 // when the response arrived, after born, plus one; 0: none is at hand
	paused atomic.Bool  // the loop has paused timers, and waits for a readsOn
}

// arrived notes a response.
func (r *reading) arrived(at time.Time) { r.since.Store(int64(at.Sub(r.born)) + 1) }

// readsOn says that the goroutine of a stream reads on.
type readsOn struct{ s *stream }

// next notes that the goroutine is about to wait for a response.
func (s *stream) next() {
	s.reading.since.Store(0)
	if s.reading.paused.Swap(false) {
		s.loop.post(readsOn{s})
	}
}

func (e readsOn) apply(l *loop, now time.Time) {
	if e.s.current() {
		e.s.channel.tell(l, func(i int, _ *authorityScope) authority.Event { return authority.Resume{Server: i} }, now)
	}
}

// noticeable is how long a response is worked on until timers are longer for it.
const noticeable = 10 * time.Millisecond

// pause has the timers stand still if work on the response at hand takes long. Loop only.
func (s *stream) pause(l *loop, now time.Time) {
	since := s.reading.born.Add(time.Duration(s.reading.since.Load() - 1))
	if now.Sub(since) < noticeable {
		return
	}
	s.reading.paused.Store(true)
	s.channel.tell(l, func(i int, _ *authorityScope) authority.Event { return authority.Pause{Server: i, Since: since} }, now)
}

// attend has the timers of an authority stand still if the stream of the server in use is
// at work. It comes before timers are started or looked at.
func (l *loop) attend(a *authorityScope, now time.Time) {
	i, ok := a.machine.Active()
	if !ok || a.channels[i].stream == nil {
		return
	}
	r := &a.channels[i].stream.reading
	r.paused.Store(true) // first, so that the goroutine cannot miss it
	if since := r.since.Load(); since != 0 {
		l.toAuthority(a, authority.Pause{Server: i, Since: r.born.Add(time.Duration(since - 1))}, now)
	}
}
