package ads

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Config sets a machine's times. The zero value of a field means its default.
type Config struct {
	// Backoff is the pause between streams.
	Backoff Backoff
	// PausePerName is how long new names wait after a request, for each name it
	// held. 10 µs by default: nothing that a person or a handful of watches
	// would notice, and 100 ms after 10,000 names.
	PausePerName time.Duration
	// Settle is how long a stream must be up before the control plane counts as
	// reachable although it has nothing to say. 1 s by default.
	Settle time.Duration
	// Linger is how long a stream on which nothing is wanted any longer is kept.
	// 1 min by default.
	Linger time.Duration
	// Random returns numbers in [0, 1) for jitter; math/rand/v2 by default.
	Random func() float64
}

func (c Config) withDefaults() Config {
	if c.Backoff == (Backoff{}) {
		c.Backoff = DefaultBackoff
	}
	c.Backoff = c.Backoff.withDefaults()
	if c.PausePerName == 0 {
		c.PausePerName = 10 * time.Microsecond
	}
	if c.Settle == 0 {
		c.Settle = time.Second
	}
	if c.Linger == 0 {
		c.Linger = time.Minute
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return c
}

// errSilent is the error of a stream that the server ended without an error and
// without a response (gRFC A57 makes that a connectivity failure).
var errSilent = errors.New("the control plane closed the stream without any response")

type streamState int

const (
	idle    streamState = iota // no stream, because nothing is wanted
	opening                    // Open was asked for
	open
	waiting // no stream until retryAt
)

// SotW is the state-of-the-world machine of one server and one client. It is
// not safe for concurrent use; its owner is the client's event loop.
type SotW struct {
	config Config
	types  []*subscriptions // in the order of first use
	next   int              // the type whose turn to send it is

	state    streamState
	openedAt time.Time
	retryAt  time.Time
	failures int // streams in a row that brought no response

	nodeSent bool     // on this stream
	answered bool     // the stream brought a response
	healthy  bool     // Healthy was told for this stream
	writing  *pending // the request that has not left yet

	unwanted time.Time // since when nothing is wanted on this stream; zero while something is

	effects []Effect
}

type pending struct {
	typ   *resource.Type
	asked []string
}

// NewSotW returns a machine that wants nothing yet.
func NewSotW(config Config) *SotW { return &SotW{config: config.withDefaults()} }

// Handle takes in an event and returns what to do about it. The slice is valid
// until the next call. Nothing is sent before a Turn, so that the events of one
// batch share their requests.
func (m *SotW) Handle(ev Event, now time.Time) []Effect {
	m.effects = m.effects[:0]
	switch ev := ev.(type) {
	case Subscribe:
		m.of(ev.Type).add(ev.Name)
	case Unsubscribe:
		m.of(ev.Type).remove(ev.Name)
	case Opened:
		m.state, m.openedAt = open, now
	case Written:
		m.written()
	case Received:
		m.received(ev)
	case Closed:
		m.closed(ev.Err, now)
	case Turn:
		m.turn(now)
	}
	return m.effects
}

// NextDeadline is when the next Turn is due although nothing happens.
func (m *SotW) NextDeadline() (at time.Time, ok bool) {
	earliest := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	switch m.state {
	case idle, opening:
	case waiting:
		earliest(m.retryAt)
	case open:
		if !m.unwanted.IsZero() {
			earliest(m.unwanted.Add(m.config.Linger))
		}
		if !m.healthy {
			earliest(m.openedAt.Add(m.config.Settle))
		}
		if m.writing == nil {
			for _, s := range m.types {
				if s.changed && s.opened {
					earliest(s.pauseUntil)
				}
			}
		}
	}
	return at, ok
}

// Asked reports whether a request for the type was sent on this stream. What a
// response of another type brings is not to be used.
func (m *SotW) Asked(t *resource.Type) bool { return m.of(t).opened }

func (m *SotW) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *SotW) of(t *resource.Type) *subscriptions {
	for _, s := range m.types {
		if s.typ == t {
			return s
		}
	}
	s := newSubscriptions(t)
	m.types = append(m.types, s)
	return s
}

func (m *SotW) wanted() bool {
	for _, s := range m.types {
		if s.wanted() {
			return true
		}
	}
	return false
}

func (m *SotW) turn(now time.Time) {
	switch m.state {
	case opening:
	case idle, waiting:
		switch {
		case now.Before(m.retryAt):
		case m.wanted():
			m.state = opening
			m.emit(Open{})
		case m.state == waiting:
			m.rest()
		}
	case open:
		if m.lingered(now) {
			m.rest()
			return
		}
		if !m.healthy && !now.Before(m.openedAt.Add(m.config.Settle)) {
			m.setHealthy()
		}
		m.send(now)
	}
}

// lingered reports whether nothing has been wanted on the stream for long enough.
func (m *SotW) lingered(now time.Time) bool {
	switch {
	case m.wanted():
		m.unwanted = time.Time{}
	case m.unwanted.IsZero():
		m.unwanted = now
	default:
		return !now.Before(m.unwanted.Add(m.config.Linger))
	}
	return false
}

// rest makes do without a stream until something is wanted.
func (m *SotW) rest() {
	m.state = idle
	m.reset()
	m.emit(Idle{})
}

// send lets one request leave if none is on its way, types taking turns.
func (m *SotW) send(now time.Time) {
	if m.writing != nil {
		return
	}
	for range m.types {
		s := m.types[m.next%len(m.types)]
		m.next++
		if !s.due(now) {
			continue
		}
		req, asked := s.send(now, m.config.PausePerName)
		req.First = !m.nodeSent
		m.nodeSent = true
		m.writing = &pending{typ: s.typ, asked: asked}
		m.emit(req)
		return
	}
}

func (m *SotW) written() {
	if m.writing == nil {
		return
	}
	if len(m.writing.asked) > 0 {
		m.emit(Asked{Type: m.writing.typ, Names: m.writing.asked})
	}
	m.writing = nil
}

func (m *SotW) received(ev Received) {
	m.answered, m.failures = true, 0
	if !m.healthy {
		m.setHealthy()
	}
	s := m.of(ev.Type)
	if !s.opened {
		return // nobody asked on this stream; an answer would subscribe to everything
	}
	s.nonce, s.answer, s.reject = ev.Nonce, true, ev.Reject
	if ev.Reject == "" {
		s.version = ev.Version
	}
}

func (m *SotW) setHealthy() {
	m.healthy = true
	m.emit(Healthy{})
}

func (m *SotW) closed(err error, now time.Time) {
	switch {
	case m.answered:
		m.failures, err = 0, nil
		m.retryAt = now.Add(m.config.Backoff.delay(1, m.config.Random))
	default:
		if err == nil {
			err = errSilent
		}
		m.failures++
		m.retryAt = now.Add(m.config.Backoff.delay(m.failures, m.config.Random))
	}
	m.state = waiting
	m.reset()
	m.emit(Lost{Err: err})
}

// reset forgets what belongs to a stream that is gone.
func (m *SotW) reset() {
	m.nodeSent, m.answered, m.healthy, m.writing = false, false, false, nil
	m.unwanted = time.Time{}
	for _, s := range m.types {
		s.reset()
	}
}
