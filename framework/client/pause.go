package client

import (
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A reading records whether a stream's goroutine waits for a response or works on one: the
// goroutine decodes it, or waits until it is applied and watchers had their time. Meanwhile
// the goroutine does not read later responses, so the does-not-exist timers of all types
// pause. They also pause while a response of any type is arriving, if the transport can
// tell.
//
// The goroutine records its state without telling the loop. The loop reads it when a timer
// is due or about to start, so small responses cost nothing.
type reading struct {
	born   time.Time
	since  atomic.Int64 // when the response arrived, after born, plus one; 0: none is in progress
	paused atomic.Bool  // the loop has paused timers, and waits for a resume

	// The loop's.
	arriver transport.Arriver // nil if the transport cannot tell
	look    time.Time         // when to check again whether the response still arrives; zero: never
	none    time.Time         // when none was arriving; timers may have been started then
}

// A response that does not arrive in maxArriving, or stops arriving, counts as none. The
// loop looks every lookInterval.
const (
	maxArriving  = 5 * time.Minute
	lookInterval = time.Second
)

// arriving reports since when a response has been arriving. Loop only.
func (r *reading) arriving(now time.Time) (since time.Time, ok bool) {
	if r.arriver == nil {
		return time.Time{}, false
	}
	since, ok = r.arriver.Arriving()
	ok = ok && now.Sub(since) < maxArriving
	if since.Before(r.none) {
		since = r.none
	}
	return since, ok
}

// arrived records the arrival of a response.
func (r *reading) arrived(at time.Time) { r.since.Store(int64(at.Sub(r.born)) + 1) }

// next records that the goroutine is about to wait for a response.
func (s *stream) next() {
	s.reading.since.Store(0)
	if s.reading.paused.Swap(false) {
		s.loop.post(func() {
			if s.current() {
				s.session.resume(s.loop)
			}
		})
	}
}

// resume continues the timers.
func (ses *session) resume(l *loop) {
	ses.stream.reading.look = time.Time{}
	l.authorities(ses, func(m *authority.Machine, i int) { m.Resume(i, l.now) })
}

// lookAgain continues the timers if the response that paused them no longer arrives. A
// response that has arrived pauses them until the goroutine reads on.
func (ses *session) lookAgain(l *loop) {
	if ses.stream == nil || ses.stream.reading.look.IsZero() || l.now.Before(ses.stream.reading.look) {
		return
	}
	r := &ses.stream.reading
	if _, arriving := r.arriving(l.now); arriving {
		r.look = l.now.Add(lookInterval)
		return
	}
	if r.look = (time.Time{}); r.since.Load() == 0 {
		ses.resume(l)
	}
}

// noticeable is the time of work on a response beyond which the timers pause.
const noticeable = 10 * time.Millisecond

// pause pauses the timers if work on the current response takes long. Loop only.
func (s *stream) pause() {
	since := s.reading.born.Add(time.Duration(s.reading.since.Load() - 1))
	if s.loop.now.Sub(since) < noticeable {
		return
	}
	s.reading.paused.Store(true)
	s.loop.authorities(s.session, func(m *authority.Machine, i int) { m.Pause(i, since) })
}

// attend pauses the timers of an authority if the stream of the server in use works on a
// response, or if one arrives on it. The loop calls it before it starts or reads timers.
func (l *loop) attend(a *authorityScope) {
	i, ok := a.machine.Active()
	if !ok || a.sessions[i].stream == nil {
		return
	}
	r := &a.sessions[i].stream.reading
	r.paused.Store(true) // first, so that the goroutine cannot miss it
	if since := r.since.Load(); since != 0 {
		a.machine.Pause(i, r.born.Add(time.Duration(since-1)))
	} else if since, arriving := r.arriving(l.now); arriving {
		a.machine.Pause(i, since)
		r.look = l.now.Add(lookInterval)
	} else {
		r.none = l.now
	}
}
