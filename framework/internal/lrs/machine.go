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
	opening                    // Open was emitted
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
	bounded    [2]bool // Bounded was emitted for an interval that is too short, too long
	truncated  bool    // Truncated was emitted
	scope      load.Scope
	interval   time.Duration
	reported   time.Time // when the last report was emitted; the interval begins there

	effects []Effect
}

// New returns a machine that has nothing to report yet.
func New(config Config) *Machine { return &Machine{config: config.withDefaults()} }

// Handle handles an event and returns its effects. The slice is valid until the next call.
func (m *Machine) Handle(ev Event, now time.Time) []Effect {
	m.effects = m.effects[:0]
	switch ev := ev.(type) {
	case Want:
		m.want(ev.Wanted, now)
	case Opened:
		m.state, m.writing = open, true
		m.emit(Greet{})
	case Written:
		m.writing = false
	case Received:
		m.received(ev.Instructions, now)
	case Closed:
		m.closed(ev, now)
	case Turn:
	}
	m.turn(now)
	return m.effects
}

// NextDeadline returns when the next Turn is due if no other event comes.
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

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

// want records whether there is something to report. On an open stream, the first period begins
// when there is.
func (m *Machine) want(wanted bool, now time.Time) {
	if wanted == m.wanted {
		return
	}
	m.wanted = wanted
	if wanted {
		m.reported = now
	} else {
		m.unwanted = now
	}
}

func (m *Machine) turn(now time.Time) {
	at, ok := m.NextDeadline()
	due := ok && !now.Before(at)
	switch {
	case m.state == idle && m.wanted, m.state == waiting && m.wanted && due:
		m.state = opening
		m.emit(Open{})
	case m.state == waiting && due, m.state == open && !m.wanted && due:
		m.state = idle
		m.reset()
		m.emit(Idle{})
	case m.state == open && due:
		m.reported, m.writing = now, true
		m.emit(Report{Scope: m.scope})
	}
}

// reset clears the state of a stream that has ended.
func (m *Machine) reset() {
	m.writing, m.instructed, m.scope = false, false, load.Scope{}
	m.bounded, m.truncated = [2]bool{}, false
}

// received applies the server's instructions. The current period is measured against the new
// interval. The first one begins with the first response.
func (m *Machine) received(in Instructions, now time.Time) {
	if !m.instructed {
		m.instructed, m.reported = true, now
	}
	m.failures, m.scope = 0, in.Scope
	used := min(max(in.Interval, m.config.MinInterval), m.config.MaxInterval)
	side := 0
	if in.Interval > used {
		side = 1
	}
	if used != in.Interval && !m.bounded[side] {
		m.bounded[side] = true
		m.emit(Bounded{Asked: in.Interval, Used: used})
	}
	if in.Ignored > 0 && !m.truncated {
		m.truncated = true
		m.emit(Truncated{in.Ignored})
	}
	m.interval = used
}

func (m *Machine) closed(ev Closed, now time.Time) {
	err := ev.Err
	switch {
	case ev.Unimplemented:
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
	m.emit(Lost{Err: err, RetryAt: m.retryAt, Unimplemented: ev.Unimplemented})
}
