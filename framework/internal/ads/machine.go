package ads

import (
	"errors"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// errSilent is the error of a stream that the server ended without an error and without a response,
// which is a connectivity failure by gRFC A57.
var errSilent = errors.New("the control plane closed the stream without any response")

// maxStability is the limit of the time that a stream must be up after others that ended without a
// response.
const maxStability = 30 * time.Second

type streamState int

const (
	idle    streamState = iota // no stream, because nothing is wanted
	opening                    // Ready.Open was set
	open
	waiting // no stream until retryAt
)

// Machine is the stream of one server and one client. It is not safe for concurrent use. Its owner
// is the client's event loop.
type Machine struct {
	config Config
	delta  bool
	types  []names // in the order of first use
	next   int     // the index of the type that may send next

	state    streamState
	openedAt time.Time
	retryAt  time.Time
	failures int // streams in a row without a response

	nodeSent time.Time // on this stream; zero before
	answered bool      // this stream received a response
	proven   bool      // some stream did, in the current protocol
	assumed  bool      // the machine gave delta up because of silence alone, for the first time
	insisted bool      // it has changed back to delta once
	healthy  bool      // this stream was reported as healthy
	writing  Names     // of the request that is being sent; the zero value if there is none

	unwanted time.Time // since when nothing is wanted on this stream; zero while something is
	released bool      // Release came since the last Tick

	// stability is how long a stream must be up. It is longer than the configured time after a stream
	// that was up for that time and ended without a response.
	stability time.Duration

	ready Ready
}

// names is the state of one type. It has an implementation for each variant of the protocol.
type names interface {
	typ() *resource.Descriptor
	// add and remove change the wanted names.
	add(name string)
	remove(name string)
	wanted() bool
	all() []string
	// opened reports whether a request for the type was sent on this stream.
	opened() bool
	// due reports whether to send a request now. next returns the time at which the result of due
	// may change without an event.
	due(now time.Time) bool
	next() (time.Time, bool)
	// send returns the next request, and the names that are new on this stream.
	send(now time.Time) (req Request, added []string)
	received(resp *Response, now time.Time)
	// late records that the server has not answered a name, and answered records that it has.
	late(name string, now time.Time)
	answered(name string)
	// forget makes the machine no longer claim to hold the resource.
	forget(name string)
	// renew does so for all resources.
	renew()
	// stale returns the resources that the server no longer has although it did not say so.
	stale(now time.Time) []string
	// reset clears the state of a stream that has ended.
	reset()
}

// New returns a machine without subscriptions.
func New(config Config) *Machine {
	config = config.withDefaults()
	return &Machine{config: config, delta: config.Protocol != StateOfTheWorld, stability: config.StabilityPeriod}
}

// Delta reports whether the machine uses the incremental variant.
func (m *Machine) Delta() bool { return m.delta }

// Status returns the state for status pages: whether a stream is open, is being opened, or is not
// retried before retryAt.
func (m *Machine) Status() (isOpen, isOpening bool, retryAt time.Time) {
	if m.state == waiting {
		retryAt = m.retryAt
	}
	return m.state == open, m.state == opening, retryAt
}

// NextDeadline returns when the next Tick is due if no other event comes.
func (m *Machine) NextDeadline() (at time.Time, ok bool) {
	earliest := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	switch m.state {
	case opening:
	case idle:
		if m.wanted() { // a stream that was released while it waited keeps its back-off
			earliest(m.retryAt)
		}
	case waiting:
		earliest(m.retryAt)
	case open:
		if !m.unwanted.IsZero() {
			earliest(m.unwanted.Add(m.config.Linger))
		}
		if !m.healthy {
			earliest(m.openedAt.Add(m.stability))
		}
		if m.mayLackDelta() {
			earliest(m.nodeSent.Add(m.config.Silence))
		}
		for _, s := range m.types {
			if t, has := s.next(); has && (m.writing.Type == nil || !s.due(t)) {
				earliest(t)
			}
		}
	}
	return at, ok
}

// Requests reports whether a request for the type was sent on this stream. Otherwise the client
// must ignore responses of the type.
func (m *Machine) Requests(t *resource.Descriptor) bool { return m.of(t).opened() }

func (m *Machine) of(t *resource.Descriptor) names {
	for _, s := range m.types {
		if s.typ() == t {
			return s
		}
	}
	s := m.newNames(t)
	m.types = append(m.types, s)
	return s
}

func (m *Machine) newNames(t *resource.Descriptor) names {
	if m.delta {
		return newDeltaNames(t, &m.config)
	}
	return newSotwNames(t, &m.config)
}

func (m *Machine) wanted() bool { return slices.ContainsFunc(m.types, names.wanted) }

// mayLackDelta reports whether the server may still turn out not to support the delta protocol. A server
// that has answered in it may well be silent after a reconnect, because it knows which resources
// are held.
func (m *Machine) mayLackDelta() bool {
	return m.delta && m.config.Protocol == Auto && !m.proven && !m.nodeSent.IsZero()
}

// useStateOfTheWorld changes the protocol and keeps the wanted names.
func (m *Machine) useStateOfTheWorld() { m.use(false, StateOfTheWorld) }

// PreferDelta reports that the last request in state of the world is too large for most servers. The
// machine changes to the delta protocol, once, if the protocol is [Auto] and the server has only
// been silent in delta: delta requests can be divided. It reports whether it changes. Then the
// request must not be sent.
func (m *Machine) PreferDelta() bool {
	if m.delta || !m.assumed {
		return false
	}
	m.assumed, m.insisted, m.proven = false, true, false
	m.use(true, Auto)
	m.ready.StreamEnded = true
	m.open()
	return true
}

// use changes the protocol and keeps the wanted names.
func (m *Machine) use(delta bool, p Protocol) {
	m.delta, m.config.Protocol = delta, p
	for i, old := range m.types {
		m.types[i] = m.newNames(old.typ())
		for _, name := range old.all() {
			m.types[i].add(name)
		}
	}
	m.reset()
}

// Tick ends a batch of events: the machine opens and ends streams, and sends requests. It is also
// due at the time of NextDeadline.
func (m *Machine) Tick(now time.Time) {
	released := m.released
	m.released = false
	if released && m.state != idle && !m.wanted() {
		m.rest(true)
		return
	}
	switch m.state {
	case opening:
	case idle, waiting:
		switch {
		case now.Before(m.retryAt):
		case m.wanted():
			m.open()
		case m.state == waiting:
			m.rest(false)
		}
	case open:
		if m.lingered(now) {
			m.rest(false)
			return
		}
		if m.mayLackDelta() && !now.Before(m.nodeSent.Add(m.config.Silence)) {
			m.useStateOfTheWorld()
			m.assumed = !m.insisted
			m.ready.StreamEnded = true
			m.open()
			return
		}
		if !m.healthy && !now.Before(m.openedAt.Add(m.stability)) {
			m.setHealthy()
		}
		for _, s := range m.types {
			if stale := s.stale(now); len(stale) > 0 {
				m.ready.Stale = append(m.ready.Stale, Names{s.typ(), stale})
			}
		}
		m.send(now)
	}
}

func (m *Machine) open() {
	m.state, m.ready.Open = opening, true
}

// lingered reports whether nothing has been wanted on the stream for long enough.
func (m *Machine) lingered(now time.Time) bool {
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

// rest closes the stream until something is wanted.
func (m *Machine) rest(released bool) {
	m.state = idle
	m.reset()
	m.ready.Idle, m.ready.Released = true, released
}

// send sends one request if none is in flight. The next type sends next time.
func (m *Machine) send(now time.Time) {
	if m.writing.Type != nil {
		return
	}
	for range m.types {
		s := m.types[m.next%len(m.types)]
		m.next++
		if !s.due(now) {
			continue
		}
		req, added := s.send(now)
		if req.First = m.nodeSent.IsZero(); req.First {
			m.nodeSent = now
		}
		m.writing, m.ready.Send = Names{s.typ(), added}, &req
		return
	}
}

// Received handles a response.
func (m *Machine) Received(resp *Response, now time.Time) {
	m.answered, m.proven, m.stability = true, true, m.config.StabilityPeriod
	m.requested(resp.Type)
	if !m.healthy {
		m.setHealthy()
	}
	// Without a subscription on this stream, an answer would subscribe to everything.
	if s := m.of(resp.Type); s.opened() {
		s.received(resp, now)
	}
}

// requested reports collections as requested if a response of their type comes before Written. The
// event may be late, and only one response answers a collection. That response would be missed.
func (m *Machine) requested(t *resource.Descriptor) {
	if m.writing.Type != t || !slices.ContainsFunc(m.writing.Names, isCollection) {
		return
	}
	var names, collections []string
	for _, name := range m.writing.Names {
		if isCollection(name) {
			collections = append(collections, name)
		} else {
			names = append(names, name)
		}
	}
	m.writing.Names, m.ready.Requested = names, Names{t, collections}
}

func (m *Machine) setHealthy() {
	m.healthy, m.ready.Healthy = true, true
}

// Closed reports that the stream ended or could not be opened. If unimplemented is true, the
// server does not support the protocol.
func (m *Machine) Closed(err error, unimplemented bool, now time.Time) {
	m.state = waiting
	switch {
	case m.answered:
		m.failures, err = 0, nil
		m.retryAt = now.Add(m.config.Backoff.delay(1, m.config.Random))
	case unimplemented && m.delta && m.config.Protocol == Auto:
		m.useStateOfTheWorld()
		err = nil
	default:
		if err == nil {
			err = errSilent
		}
		if m.healthy { // Healthy came too early; the next stream must be up for longer
			m.stability = max(m.stability, min(2*now.Sub(m.openedAt), maxStability))
		}
		m.failures++
		m.retryAt = now.Add(m.config.Backoff.delay(m.failures, m.config.Random))
	}
	m.reset()
	m.ready.StreamEnded, m.ready.Err = true, err
}

// reset clears the state of a stream that has ended.
func (m *Machine) reset() {
	m.nodeSent, m.answered, m.healthy, m.writing = time.Time{}, false, false, Names{}
	m.unwanted = time.Time{}
	for _, s := range m.types {
		s.reset()
	}
}
