package authority

import (
	"container/heap"
	"slices"
	"time"
)

// timers are the does-not-exist timers of an authority. All of them run for the same time, so that
// they expire in the order of their start: a queue. A stopped timer stays in the queue until it
// would have expired. Its number then differs from its record's.
type timers struct {
	queue  []timer
	newest *deadline // of the timer that was started last
	last   uint32
	// halved is the number of timers at the front of the queue that have reported half of
	// their time.
	halved int
}

type timer struct {
	*deadline // timers that start together share it
	record    *record
	number    uint32
}

type deadline struct {
	at   time.Time
	wait time.Duration
}

// half returns the time at which half of the timer's time is over.
func (d *deadline) half() time.Time { return d.at.Add(-d.wait / 2) }

func (t *timers) start(r *record, now time.Time, wait time.Duration) {
	t.last++
	if t.last == 0 {
		t.last++ // 0 means that no timer is armed
	}
	r.timer = t.last
	if at := now.Add(wait); t.newest == nil || *t.newest != (deadline{at, wait}) {
		t.newest = &deadline{at, wait}
	}
	t.queue = append(t.queue, timer{deadline: t.newest, record: r, number: t.last})
}

// reserve makes room for n timers.
func (t *timers) reserve(n int) { t.queue = slices.Grow(t.queue, n) }

// next returns the first timer that was not stopped.
func (t *timers) next() (timer, bool) {
	for len(t.queue) > 0 {
		if first := t.queue[0]; first.record.timer == first.number {
			return first, true
		}
		t.queue[0] = timer{}
		t.queue = t.queue[1:]
		t.halved = max(t.halved-1, 0)
	}
	t.queue, t.halved = nil, 0
	return timer{}, false
}

// nextHalf returns the first timer that was not stopped and has not reported its half.
func (t *timers) nextHalf() (timer, bool) {
	for ; t.halved < len(t.queue); t.halved++ {
		if first := t.queue[t.halved]; first.record.timer == first.number {
			return first, true
		}
	}
	return timer{}, false
}

// stopAll stops every timer.
func (t *timers) stopAll() {
	for _, q := range t.queue {
		if q.record.timer == q.number {
			q.record.timer = 0
		}
	}
	t.queue, t.halved = nil, 0
}

// lifetimes are the records whose updates expire, the next one first.
type lifetimes []*record

// set changes when a record's update expires; zero: never.
func (l *lifetimes) set(r *record, at time.Time) {
	if at.IsZero() && r.extras == nil {
		return
	}
	r.own().expires = at
	switch i := r.extras.position - 1; {
	case at.IsZero() && i >= 0:
		heap.Remove(l, i)
	case at.IsZero():
	case i >= 0:
		heap.Fix(l, i)
	default:
		heap.Push(l, r)
	}
}

// Len implements [heap.Interface].
func (l *lifetimes) Len() int { return len(*l) }

// Less implements [heap.Interface].
func (l *lifetimes) Less(i, j int) bool { return (*l)[i].extras.expires.Before((*l)[j].extras.expires) }

// Swap implements [heap.Interface].
func (l *lifetimes) Swap(i, j int) {
	s := *l
	s[i], s[j] = s[j], s[i]
	s[i].extras.position, s[j].extras.position = i+1, j+1
}

// Push implements [heap.Interface].
func (l *lifetimes) Push(x any) {
	r := x.(*record)
	*l = append(*l, r)
	r.extras.position = len(*l)
}

// Pop implements [heap.Interface].
func (l *lifetimes) Pop() any {
	s := *l
	last := len(s) - 1
	r := s[last]
	s[last] = nil
	*l = s[:last]
	r.extras.position = 0
	return r
}

// A clock is the time of the does-not-exist timers. It pauses while the client works on a response
// of the server in use, because resources in unread responses are not missing. Timers that start
// during a pause get their full time.
type clock struct {
	stopped time.Time     // since when; zero while it runs
	behind  time.Duration // total time of earlier pauses
	started time.Time     // when it was last started
}

// read returns the time of the clock.
func (c *clock) read(now time.Time) time.Time {
	if c.standing() {
		now = c.stopped
	}
	return now.Add(-c.behind)
}

// when returns the real time at which a running clock reaches t.
func (c *clock) when(t time.Time) time.Time { return t.Add(c.behind) }

func (c *clock) standing() bool { return !c.stopped.IsZero() }

// stop pauses the clock from a moment in the past.
func (c *clock) stop(since time.Time) {
	if c.standing() {
		return
	}
	if c.stopped = since; since.Before(c.started) {
		c.stopped = c.started // no time counts twice
	}
}

func (c *clock) start(now time.Time) {
	if c.standing() {
		c.behind += now.Sub(c.stopped)
		c.stopped, c.started = time.Time{}, now
	}
}

// restart stops every timer when the server in use changes or its stream ends.
func (m *Machine) restart() {
	m.timers.stopAll()
	m.clock = clock{started: m.now}
}

// Pause reports that a server's response arrived, or began to arrive, at since, and that the client
// still works on it. The does-not-exist timers pause. It must precede Requested and Tick of that time.
func (m *Machine) Pause(server int, since time.Time) {
	if server == m.choice.active {
		m.clock.stop(since)
	}
}

// Resume reports that the client reads again. The timers continue with their remaining time.
func (m *Machine) Resume(server int, now time.Time) {
	if server == m.choice.active {
		m.clock.start(now)
	}
}
