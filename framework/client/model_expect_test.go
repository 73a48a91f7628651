package client_test

import (
	"maps"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A modelKey is one resource. Its name contains its authority.
type modelKey struct {
	typ       *resource.Descriptor
	authority string
	name      string
}

// content is the state of a key at a control plane: a valid value, an invalid one, an error in
// place of one, or nothing.
type content struct {
	value   string // empty: it does not exist
	bad     bool
	ttl     time.Duration // zero: for ever
	code    int32         // of an error; zero: none
	version int           // counts the contents of all keys
}

// kind is the error that a client has of a content.
func (c content) kind() modelKind {
	switch {
	case c.code != 0:
		return modelCodes[c.code]
	case c.bad:
		return isInvalid
	}
	return noError
}

// modelCodes are the errors that a control plane has in place of resources (xRFC TP3).
var modelCodes = map[int32]modelKind{5: isNotFound, 7: isDenied, 14: isUnavailable}

// A belief is the state of a key that a client should have after the messages so far.
type belief struct {
	value string    // in use; empty: none
	kind  modelKind // of the error of the resource itself; nil: none
	seen  bool      // the control plane has had something to say of it
	asked time.Time

	version int       // of the content whose value is in use
	expires time.Time // when that has been in use for long enough; zero: never
	refused bool      // the control plane has sent an error

	// The client's state is open after a burst, and if another server may have answered.
	vague bool
}

// A server, as the model knows it.
type modelServer struct {
	holds      map[modelKey]content
	up         bool // streams can be opened
	deaf       bool // requests are not read
	holding    bool // responses are not sent
	connected  bool // there was a stream when it was last looked at
	stream     int  // its number
	subscribed map[modelKey]bool
	unread     map[modelKey]bool // of those, which a request that was not read has dropped
	withheld   []func()          // the effects of responses that are held back
}

// A model has the state of the control planes and of the client.
type model struct {
	servers     []*modelServer
	authorities map[string][]int
	beliefs     map[modelKey]*belief
	dropsErrors bool              // fail_on_data_errors
	patient     bool              // resource_timer_is_transient_error
	delta       bool              // the incremental protocol
	mortal      map[modelKey]bool // keys that have had a value with a time to live
	murky       bool              // new watches are vague, too
	// lax means that a client's state is not checked until no message is in flight. The
	// model predicts single answers only for the literal control plane, without collections.
	lax bool

	back time.Time // see time
}

// server is the first one of an authority.
func (m *model) server(k modelKey) *modelServer { return m.servers[m.authorities[k.authority][0]] }

// watch adds a watch of a key. A server that holds a response
// back passes over the requests that answer an earlier one; whether there are such is
// left open.
func (m *model) watch(k modelKey) {
	if m.beliefs[k] == nil {
		m.beliefs[k] = &belief{vague: m.murky || m.open(k) || m.server(k).holding}
	}
}

// open reports whether a client's state for a key is never checked before all messages
// have arrived.
func (m *model) open(k modelKey) bool { return m.lax || m.loose(k) }

// loose reports whether a key has several servers. The model leaves their order open, but not the
// state at rest.
func (m *model) loose(k modelKey) bool { return len(m.authorities[k.authority]) > 1 }

// unwatch removes it.
func (m *model) unwatch(k modelKey) {
	delete(m.beliefs, k)
	if s := m.server(k); s.deaf {
		s.unread[k] = true
	} else {
		delete(s.subscribed, k)
	}
}

// put changes a server's content and notifies its subscribers.
func (m *model) put(s *modelServer, contents map[modelKey]content) {
	maps.Copy(s.holds, contents)
	for k, c := range contents {
		m.mortal[k] = m.mortal[k] || c.ttl > 0
		if s.subscribed[k] {
			m.respond(s, k)
		}
	}
}

// respond sends a resource; of a complete type, all, unless only differences are
// sent. An error is sent once.
func (m *model) respond(s *modelServer, because modelKey) {
	for k := range s.subscribed {
		if k == because || k.typ == because.typ && k.typ.Complete && !m.delta && s.holds[k].code == 0 {
			m.bring(s, k, s.holds[k])
		}
	}
}

// bring has the client hear of a content, now or when the server is no longer
// holding responses back.
func (m *model) bring(s *modelServer, k modelKey, c content) {
	hear := func() {
		if b := m.beliefs[k]; b != nil {
			m.hear(k, b, c)
		}
	}
	if s.holding {
		s.withheld = append(s.withheld, hear)
		return
	}
	hear()
}

// hear changes a belief by a response. A delta response names a removed resource. In the state of
// the world, a complete type removes the resources that its response lacks.
func (m *model) hear(k modelKey, b *belief, c content) {
	if (c.code != 0 || c.bad) && b.dying(m.time()) {
		b.vague = true // whether the value expired before or after the error is open
	}
	switch {
	case c.code != 0:
		m.refuse(b, c.kind())
	case c.value != "" && !c.bad:
		m.use(b, c)
	case c.bad:
		b.kind, b.seen, b.refused = isInvalid, true, false
		m.drop(b)
	case !m.delta && (!k.typ.Complete || !b.seen || b.refused):
	case b.value == "" && (b.kind == isRemoved || b.kind == isNotFound):
	case b.value == "" && b.kind != isInvalid:
		b.kind, b.seen = isNotFound, true
	default:
		b.kind, b.seen = isRemoved, true
		m.drop(b)
	}
}

// time is when something happens: now, unless it did since the model looked last.
func (m *model) time() time.Time {
	if m.back.IsZero() {
		return time.Now()
	}
	return m.back
}

// use takes a value into use.
func (m *model) use(b *belief, c content) {
	b.value, b.kind, b.seen, b.refused = c.value, noError, true, false
	b.version, b.expires = c.version, time.Time{}
	if c.ttl > 0 {
		b.expires = m.time().Add(c.ttl)
	}
}

// refuse applies an error of the control plane. One that says that it cannot send the
// resource now is no reason to drop a value.
func (m *model) refuse(b *belief, kind modelKind) {
	if kind == isNotFound && b.value != "" {
		kind = isRemoved
	}
	if b.kind, b.seen, b.refused = kind, true, true; kind != isUnavailable {
		m.drop(b)
	}
}

// beat renews the time to live of a value. The client resubscribes to an expired one.
func (m *model) beat(s *modelServer, k modelKey) {
	for other := range s.subscribed {
		if other != k && other.typ == k.typ && k.typ.Complete && !m.delta && s.holds[other].code == 0 && s.holds[other].value != "" {
			m.bring(s, other, s.holds[other])
		}
	}
	b, c := m.beliefs[k], s.holds[k]
	switch {
	case !s.subscribed[k] || b == nil:
	case b.value != "" && b.version == c.version:
		b.expires = time.Now().Add(c.ttl)
	case b.value == "" && !b.refused && (b.kind == isRemoved || b.kind == isNotFound):
		m.hear(k, b, c)
	}
}

// lapse ends the use of expired values of a server. They may have arrived somewhat later than they
// were sent. A server may or may not resend a value that expires as a stream opens.
func (m *model) lapse(s *modelServer, now time.Time) {
	for k, b := range m.beliefs {
		switch {
		case m.server(k) != s || !b.dying(now):
		case now.After(b.expires.Add(slowness)):
			b.value, b.kind, b.expires, b.refused = "", isRemoved, time.Time{}, false
			b.vague = b.vague || m.delta && s.deaf && !s.subscribed[k]
		case !m.back.IsZero():
			b.vague = true
		}
	}
}

// dying reports whether a value has expired or is about to.
func (b *belief) dying(now time.Time) bool { return !b.expires.IsZero() && !now.Before(b.expires) }

func (m *model) drop(b *belief) {
	if m.dropsErrors {
		b.value, b.expires = "", time.Time{}
	}
}

// blur leaves the client's state of a key open. It stays open while the key is watched, until the
// control planes read and respond again.
func (m *model) blur(further bool) {
	m.murky = m.murky || further
	for _, b := range m.beliefs {
		b.vague = true
	}
}

// busy reports whether a control plane does not read or answer.
func (m *model) busy() bool {
	return slices.ContainsFunc(m.servers, func(s *modelServer) bool { return s.deaf || s.holding })
}

// subscribe has a server read which keys are watched, and answer.
func (m *model) subscribe(s *modelServer, now time.Time) {
	if !s.connected || s.deaf {
		return
	}
	for k := range s.unread {
		delete(s.subscribed, k)
	}
	clear(s.unread)
	for k, b := range m.beliefs {
		if m.server(k) == s && !s.subscribed[k] {
			s.subscribed[k] = true
			b.asked = now
			if !m.delta || b.value == "" || b.version != s.holds[k].version { // else the server knows
				m.respond(s, k)
			}
		}
	}
}

// look records whether a stream is open, and the time that has passed.
func (m *model) look(s *modelServer, open bool, stream int, since, now time.Time) {
	m.expire(s, now)
	if s.connected && (!open || stream != s.stream) {
		s.connected, s.withheld = false, nil
		clear(s.subscribed)
		clear(s.unread)
		for k, b := range m.beliefs {
			if m.server(k) == s {
				b.asked = time.Time{}
			}
		}
	}
	if open && !s.connected {
		s.connected, s.stream = true, stream
		m.back = since
		m.lapse(s, since)
		m.subscribe(s, since)
		m.back = time.Time{}
		m.expire(s, now)
	}
	m.lapse(s, now)
}

// expire has resources that were asked for and did not come not exist. Only while
// the stream is up does the time run.
func (m *model) expire(s *modelServer, now time.Time) {
	wait := 15 * time.Second
	kind := isNotFound
	if m.patient {
		wait, kind = 30*time.Second, isTimeout
	}
	for k, b := range m.beliefs {
		if m.server(k) == s && !b.seen && b.kind == noError && !b.asked.IsZero() && now.Sub(b.asked) >= wait {
			b.kind = kind
		}
	}
}
