package ads

import (
	"maps"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/byname"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A phase is how far the request for a name has come on this stream.
type phase uint8

const (
	unsent phase = iota // no request contained it
	asked               // a request after the first one did, and no response has mentioned it since
	sent                // a request did, and is not overtaken
)

// sotwNames is the state of one type in the state-of-the-world variant.
//
// Every request of this variant lists all names. An answer (ACK or NACK) lists those of
// the request before it; only a request without an answer of its own changes the list.
type sotwNames struct {
	resource *resource.Descriptor

	names  []string             // wanted; in arbitrary order
	phases []phase              // beside names
	lent   int                  // number of names at the front that requests share; never written to
	at     byname.Table[uint32] // positions in names, plus one

	// dropped names were in a request on this stream and are no longer wanted, but no request
	// without them was sent yet. A dropped name that is wanted again waits in retaken: the server
	// resends a resource only after it has seen a request without it.
	dropped     map[string]struct{}
	retaken     map[string]struct{}
	pending     pendingDrops
	confirmedAt time.Time // when pending was last confirmed
	ended       bool      // a collection was dropped on this stream

	version string // last accepted; outlives streams
	renewed bool   // the next stream begins without it
	nonce   string // of the last response on this stream
	before  string // nonce of the last response that was answered

	asked       bool // a request of this type was sent on this stream
	legacy      bool // all of them subscribed to the wildcard, by having no names
	wildcardEnd wildcardEnd
	unsent      int      // names that no request on this stream contained
	list        []string // names as last sent; shared with requests, never written to

	owed       bool      // the last response waits for its ACK or NACK
	reject     string    // not empty: it is a NACK
	run        *run      // of a NACK
	until      time.Time // before then the NACK waits
	early      bool      // the NACK is sent before that, because the list has changed
	rejections rejections

	overtaken overtaken
	overdue   overdue

	pace pace
}

func newSotwNames(t *resource.Descriptor, c *Config) *sotwNames {
	return &sotwNames{
		resource:   t,
		dropped:    make(map[string]struct{}),
		retaken:    make(map[string]struct{}),
		pending:    newPendingDrops(),
		rejections: newRejections(c),
		overdue:    newOverdue(c),
		pace:       pace{perName: max(c.PausePerName, 0)},
	}
}

func (s *sotwNames) typ() *resource.Descriptor { return s.resource }

func (s *sotwNames) opened() bool { return s.asked }

func (s *sotwNames) wanted() bool { return len(s.names) > 0 || len(s.retaken) > 0 }

func (s *sotwNames) add(name string) {
	// No wanted name is in dropped or pending.left.
	if _, ok := s.dropped[name]; ok {
		s.retaken[name] = struct{}{}
		return
	}
	if s.pending.take(name) && s.owed {
		s.retaken[name] = struct{}{} // the answer shows it dropped
		return
	}
	next := uint32(len(s.names) + 1) //nolint:gosec // memory bounds the names
	if s.at.Add(name, next, s.nameAt) != next {
		return
	}
	s.names = append(s.names, name)
	s.phases = append(s.phases, unsent)
	s.unsent++
}

func (s *sotwNames) remove(name string) {
	s.pending.leave(name)
	s.overdue.forget(name)
	delete(s.retaken, name)
	s.unlist(name)
}

// unlist removes a name from the list.
func (s *sotwNames) unlist(name string) {
	i, ok := s.find(name)
	if !ok {
		return
	}
	s.at.Delete(name, s.nameAt)
	if s.phases[i] == unsent {
		s.unsent--
	} else {
		s.settle(i)
		s.dropped[name] = struct{}{}
		s.ended = s.ended || isCollection(name)
	}
	last := len(s.names) - 1
	if i < last {
		s.at.Set(s.names[last], uint32(i+1), s.nameAt) //nolint:gosec // memory bounds the names
	}
	if i < s.lent {
		s.names, s.lent = slices.Clone(s.names), 0
	}
	s.names[i], s.phases[i] = s.names[last], s.phases[last]
	s.names, s.phases = s.names[:last], s.phases[:last]
	if len(s.names) == 0 && cap(s.names) > manyNames { // maps and lists never shrink
		s.names, s.phases, s.lent, s.at = nil, nil, 0, byname.Table[uint32]{}
	}
}

// find returns the position of a name.
func (s *sotwNames) find(name string) (position int, ok bool) {
	at, ok := s.at.Find(name, s.nameAt)
	return int(at) - 1, ok
}

func (s *sotwNames) nameAt(at uint32) string { return s.names[at-1] }

// changed reports whether names differ from the last request.
func (s *sotwNames) changed() bool { return s.unsent > 0 || len(s.dropped) > 0 }

func (s *sotwNames) all() []string {
	return append(slices.Clone(s.names), slices.Collect(maps.Keys(s.retaken))...)
}

// due reports whether to send a request now. Answers wait only if the server resends rejected
// content.
func (s *sotwNames) due(now time.Time) bool {
	switch {
	case s.answers(now):
		return true
	case s.asked && !s.owed && s.overtaken.follow:
		return true
	case s.asked && s.overdue.ready(now):
		return true
	case !s.changed():
		return false
	case !s.asked:
		return len(s.names) > 0 // an empty first list would mean a wildcard
	}
	if !s.awaited() {
		return s.pace.permitsEnd(now)
	}
	return s.unsent >= len(s.list) || s.pace.permits(len(s.names), now)
}

// awaited reports whether a change is for a name that somebody waits for. Otherwise it only drops
// names.
func (s *sotwNames) awaited() bool { return s.unsent > 0 || len(s.retaken) > 0 }

func (s *sotwNames) next() (at time.Time, ok bool) {
	earliest := func(t time.Time, has bool) {
		if has && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	change := s.pace.endUntil
	if s.awaited() {
		change = s.pace.newUntil
	}
	earliest(change, s.changed() && s.asked)
	earliest(s.until, s.owed)
	earliest(s.overdue.at, !s.overdue.at.IsZero())
	return at, ok
}

// answers reports whether to send the owed answer now. A NACK waits no longer if the list has
// changed, or if a name is to be wanted again after it.
func (s *sotwNames) answers(now time.Time) bool {
	waits := now.Before(s.until) && !s.early
	return s.owed && (!waits || len(s.retaken) > 0 && !s.changed())
}

// send returns the next request. An owed answer comes first: a later request with the nonce of its
// response would count as an ACK of it.
//
// A change does not wait for a delayed NACK. It has the nonce of the previous response, as if the
// two had crossed, and the NACK follows with the new list. If the NACK came first, a server that
// resends the same content at once would make the nonce of the change stale each time.
func (s *sotwNames) send(now time.Time) (req Request, added []string) {
	if s.answers(now) {
		return s.answer(now), nil
	}
	s.early = s.owed
	s.overdue.take(now)
	s.overtaken.follow = false
	if _, ended := s.dropped[resource.Wildcard]; ended && s.legacy {
		// Another request without names would mean the wildcard again. So a request
		// that names "*" goes first.
		s.legacy, s.list, s.wildcardEnd.spelled = false, []string{resource.Wildcard}, true
		return s.request(), nil
	}
	if s.changed() {
		added = s.change(now)
	}
	req = s.request()
	req.Repeated = s.overdue.repeated(now)
	s.asked = true
	return req, added
}

// answer returns the ACK or NACK of the last response. If the server ignored a change because of
// its nonce, a plain request follows the NACK, because some servers ignore NACKs, too.
func (s *sotwNames) answer(now time.Time) Request {
	s.owed = false
	req := s.request()
	if req.Reject = s.reject; s.run != nil {
		req.Repeats, req.Quiet = s.run.repeats, s.run.answered(now)
	}
	s.overtaken.follow = s.overtaken.follow || s.early
	s.before, s.early, s.reject, s.until = s.nonce, false, "", time.Time{}
	s.retake()
	return req
}

// change updates the list and returns the names that are new on this stream.
func (s *sotwNames) change(now time.Time) (added []string) {
	s.part()
	s.list = slices.Clip(s.names)
	s.lent = len(s.list)
	s.pace.sent(len(s.list), s.unsent > 0, now)
	added = make([]string, 0, s.unsent)
	next := sent
	if s.asked {
		next = asked
		s.overtaken.since = time.Time{}
		s.overtaken.names += s.unsent
	}
	for i, p := range s.phases {
		if p == unsent {
			added = append(added, s.names[i])
			s.phases[i] = next
		}
	}
	s.unsent = 0
	// A wildcard alone is sent without names, as every server understands it.
	only := len(s.names) == 1 && s.names[0] == resource.Wildcard
	s.legacy = only && (s.legacy || !s.asked)
	if len(s.dropped) > 0 && now.Sub(s.confirmedAt) >= overtakenFor {
		s.confirmedAt = now
		s.pending.confirm()
	}
	for name := range s.dropped {
		s.pending.drop(name)
	}
	s.dropped = emptied(s.dropped)
	s.retake()
	return added
}

// part delays new names if a collection has ended, or if a new collection comes as other names end.
// The server may remember which resources it has sent, and resends them only after it has seen a
// request without them.
func (s *sotwNames) part() {
	if s.unsent == 0 || len(s.dropped) == 0 || !anyCollection(s.dropped) && !s.newCollection() {
		return
	}
	for _, name := range slices.Clone(s.names) {
		if !s.wasSent(name) {
			s.unlist(name)
			s.retaken[name] = struct{}{}
			if !isCollection(name) { // a collection never arrives itself
				s.pending.taken[name] = 0
			}
		}
	}
}

// newCollection reports whether a collection is among the names that no request contained.
func (s *sotwNames) newCollection() bool {
	for i, p := range s.phases {
		if p == unsent && isCollection(s.names[i]) {
			return true
		}
	}
	return false
}

// retake subscribes again to names that the last request showed as dropped.
func (s *sotwNames) retake() {
	for name := range s.retaken {
		if _, waits := s.dropped[name]; !waits {
			delete(s.retaken, name)
			s.add(name)
		}
	}
}

func (s *sotwNames) request() Request {
	list := s.list
	if s.legacy {
		list = nil
	}
	nonce := s.nonce
	if s.owed {
		nonce = s.before
	}
	return Request{Type: s.resource, Version: s.version, Nonce: nonce, Names: list}
}

func (s *sotwNames) received(resp *Response, now time.Time) {
	s.nonce, s.owed, s.renewed = resp.Nonce, true, false
	s.pace.received(now)
	s.reject, s.run, s.until = resp.Reject, nil, time.Time{}
	if resp.Reject == "" {
		s.version = resp.Version
		s.early = false // the ACK has the newest nonce and the changed list
	} else {
		s.run = s.rejections.reject(resp, now)
		s.until = s.run.until
	}
	s.mentioned(resp, now)
	for name := range s.pending.received(resp, s.wasSent) {
		if _, ok := s.find(name); ok && s.pending.again(name) {
			s.unlist(name)
			s.retaken[name] = struct{}{} // until a request has shown it dropped
		}
	}
	if _, wanted := s.find(resource.Wildcard); s.wildcardEnd.crossed(s.list) && !wanted {
		s.legacy, s.dropped[resource.Wildcard] = true, struct{}{}
	}
}

// late requests all names of the type again, in one request. A request that was sent since half of
// the timer began has already repeated this name.
//
// A server may believe that it has sent the name already, if it was dropped before or may have been
// a member of a collection that has ended. Then late drops it first.
func (s *sotwNames) late(name string, now time.Time) {
	if s.wasSent(name) {
		if _, taken := s.pending.taken[name]; s.ended && !taken && !isCollection(name) {
			s.pending.taken[name] = 0
		}
		if _, taken := s.pending.taken[name]; taken && s.pending.again(name) {
			s.unlist(name)
			s.retaken[name] = struct{}{} // until a request has shown it dropped
			s.overdue.add(name, now, true)
			return
		}
		recent := !s.overdue.last.IsZero() && now.Sub(s.overdue.last) < s.overdue.backoff.Base/2
		s.overdue.add(name, now, recent)
	}
}

func (s *sotwNames) answered(name string) { s.overdue.forget(name) }

func (s *sotwNames) wasSent(name string) bool {
	i, ok := s.find(name)
	return ok && s.phases[i] != unsent
}

// forget does nothing: versions belong to responses, and requests do not list held resources.
func (s *sotwNames) forget(string) {}

// renew takes effect at the end of a stream on which the version was sent already: within a stream,
// only a response changes it.
func (s *sotwNames) renew() {
	if s.renewed = true; !s.asked {
		s.version = ""
	}
}

func (s *sotwNames) stale(time.Time) []string { return nil }

// reset clears the state of a stream that has ended. It replaces maps, because a cleared map keeps
// its memory.
func (s *sotwNames) reset() {
	s.pending = newPendingDrops()
	s.owed, s.early, s.ended = false, false, false
	s.overtaken = overtaken{}
	s.overdue.reset()
	s.pace.reset()
	s.dropped = make(map[string]struct{})
	s.retake()
	if len(s.names) == 0 {
		s.names, s.phases, s.lent, s.at = nil, nil, 0, byname.Table[uint32]{}
	}
	clear(s.phases)
	s.unsent = len(s.names)
	s.nonce, s.before, s.reject, s.until = "", "", "", time.Time{}
	s.asked, s.legacy, s.list, s.wildcardEnd = false, false, nil, wildcardEnd{}
	if len(s.names) == 0 || s.renewed {
		s.version = "" // without resources there is no version
	}
	s.renewed = false
}

// manyNames is the number of names from which a map or list is replaced instead of kept.
const manyNames = 1 << 10

// emptied returns an empty map. It replaces a large one, because maps never shrink.
func emptied(m map[string]struct{}) map[string]struct{} {
	if len(m) > manyNames {
		return make(map[string]struct{})
	}
	clear(m)
	return m
}
