package lrs

import (
	"errors"
	"time"

	"github.com/xdsforge/xdsforge/framework/load"
)

// errSilent is the error of a stream that the server ended without an error and without a response,
// which is a connectivity failure by gRFC A57.
var errSilent = errors.New("the server closed the stream without any response")

type streamState int

const (
	idle    streamState = iota // no stream, because there is nothing to report
	opening                    // Ready.Open was set
	open
	waiting // no stream until retryAt
)

// A Machine is the LRS stream of one server and one client. It is not safe for
// concurrent use; its owner is the client's event loop.
type Machine struct {
	config Config

	wanted   bool
	unwanted time.Time // since when Wanted is false
	state    streamState
	retryAt  time.Time
	failures int // streams in a row without a response

	// State of the current stream.
	writing    bool    // a message is being sent
	instructed bool    // the server has sent instructions
	clamped    [2]bool // IntervalClamped was set for an interval that is too short, too long
	truncated  bool    // Ready.Truncated was set
	filter     load.ClusterFilter
	interval   time.Duration
	reported   time.Time // when the last report was emitted; the interval begins there

	ready Ready
}

// New returns a machine that has nothing to report yet.
func New(config Config) *Machine { return &Machine{config: config.withDefaults()} }

// Opened reports that the stream of the last Open is open.
func (m *Machine) Opened(now time.Time) {
	m.state, m.writing, m.ready.SendNode = open, true, true
	m.Tick(now)
}

// Written reports that the message of the last SendNode or Report has been sent.
func (m *Machine) Written(now time.Time) {
	m.writing = false
	m.Tick(now)
}

// NextDeadline returns when the next Tick is due if no other event comes.
func (m *Machine) NextDeadline() (at time.Time, ok bool) {
	switch {
	case m.state == waiting:
		return m.retryAt, true
	case m.state == open && !m.wanted:
		return m.unwanted.Add(m.config.Linger), true
	case m.state == open && m.instructed && !m.writing:
		return m.reported.Add(m.interval), true
	}
	return time.Time{}, false
}

// Want reports whether there is something to report, now or later: whether the store is not empty. On
// an open stream, the first period begins when there is.
func (m *Machine) Want(wanted bool, now time.Time) {
	switch {
	case wanted == m.wanted:
	case wanted:
		m.wanted, m.reported = true, now
	default:
		m.wanted, m.unwanted = false, now
	}
	m.Tick(now)
}

// Tick is due at the time of NextDeadline.
func (m *Machine) Tick(now time.Time) {
	at, ok := m.NextDeadline()
	due := ok && !now.Before(at)
	switch {
	case m.state == idle && m.wanted, m.state == waiting && m.wanted && due:
		m.state, m.ready.Open = opening, true
	case m.state == waiting && due, m.state == open && !m.wanted && due:
		m.state, m.ready.Idle = idle, true
		m.reset()
	case m.state == open && due:
		filter := m.filter
		m.reported, m.writing, m.ready.Report = now, true, &filter
	}
}

// reset clears the state of a stream that has ended.
func (m *Machine) reset() {
	m.writing, m.instructed, m.filter = false, false, load.ClusterFilter{}
	m.clamped, m.truncated = [2]bool{}, false
}

// Received applies the server's instructions. The current period is measured against the new
// interval. The first one begins with the first response.
func (m *Machine) Received(in Instructions, now time.Time) {
	if !m.instructed {
		m.instructed, m.reported = true, now
	}
	m.failures, m.filter = 0, in.ClusterFilter
	used := min(max(in.Interval, m.config.MinInterval), m.config.MaxInterval)
	side := 0
	if in.Interval > used {
		side = 1
	}
	if used != in.Interval && !m.clamped[side] {
		m.clamped[side] = true
		m.ready.IntervalClamped = &Clamp{Asked: in.Interval, Used: used}
	}
	if in.Ignored > 0 && !m.truncated {
		m.truncated, m.ready.Truncated = true, in.Ignored
	}
	m.interval = used
	m.Tick(now)
}

// Closed reports that the stream ended or could not be opened. If unimplemented is true, the server
// does not accept load reports.
func (m *Machine) Closed(err error, unimplemented bool, now time.Time) {
	switch {
	case unimplemented:
		jitter := 0.9 + 0.2*m.config.Random()
		m.retryAt = now.Add(time.Duration(jitter * float64(m.config.Unimplemented)))
	case m.instructed:
		err = nil
		m.retryAt = now.Add(m.config.Backoff.Delay(1, m.config.Random))
	default:
		if err == nil {
			err = errSilent
		}
		m.failures++
		m.retryAt = now.Add(m.config.Backoff.Delay(m.failures, m.config.Random))
	}
	m.state = waiting
	m.reset()
	m.ready.StreamEnded = &End{Err: err, RetryAt: m.retryAt, Unimplemented: unimplemented}
	m.Tick(now)
}
