package authority

import "time"

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
	if server == m.choice.Active() {
		m.clock.stop(since)
	}
}

// Resume reports that the client reads again. The timers continue with their remaining time.
func (m *Machine) Resume(server int, now time.Time) {
	if server == m.choice.Active() {
		m.clock.start(now)
	}
}
