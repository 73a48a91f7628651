package ads

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// maxAnswers is the limit of responses that wait for their ACK or NACK because the server does not
// read. The oldest are dropped.
const maxAnswers = 64

// maxRequest is the limit of the names and versions in one request, in bytes. gRPC servers accept
// messages of 4 MiB by default. Without the limit, a client with more versions could never
// reconnect.
const maxRequest = 2 << 20

// deltaNames is the state of one type in the incremental variant.
type deltaNames struct {
	resource *resource.Descriptor
	replay   time.Duration
	perName  time.Duration // of the pause after a request

	names map[string]struct{} // wanted
	fresh map[string]struct{} // of them, those that no request on this stream contained
	// unanswered are the wanted collections that the server has never answered. It outlives streams.
	unanswered map[string]struct{}

	// dropped are names that were subscribed to on this stream and are no longer wanted, but no
	// request has unsubscribed from them yet. A dropped name that is wanted again waits in retaken,
	// because unsubscribing and subscribing must not be one request.
	dropped map[string]struct{}
	retaken map[string]struct{}

	// held are the resources from the server that are in use, whether they were requested by name,
	// by an alias or as members of a collection. It outlives streams.
	held    map[string]Resource
	aliased map[string]string // names of held resources, by their aliases
	// announced are the resources whose versions the stream's first request mentioned, until the server
	// sends them. If one is resent unchanged, the server ignores the versions. Then it must send
	// all of them before replayed.
	announced map[string]string
	replayed  time.Time

	former formerMembers // former members, on this stream
	// lingering names are still subscribed to on this stream, although only their collection is
	// wanted.
	lingering map[string]struct{}
	ended     bool // a collection was dropped on this stream

	asked      bool // a request of this type was sent on this stream
	legacy     bool // all of them subscribed to the wildcard, by having no names
	answers    []answer
	rejections rejections
	overdue    overdue
	pauseUntil time.Time // before then, new names alone make no request
	burst      int       // names in the last request
}

// An answer is the ACK or the NACK of a response.
type answer struct {
	nonce, reject string
	run           *run      // of a NACK
	until         time.Time // before then it waits
}

func newDeltaNames(t *resource.Descriptor, c *Config) *deltaNames {
	return &deltaNames{
		resource: t, replay: c.Replay, perName: c.PausePerName,
		rejections: newRejections(c), overdue: newOverdue(c),
		names:   make(map[string]struct{}),
		fresh:   make(map[string]struct{}),
		dropped: make(map[string]struct{}),
		retaken: make(map[string]struct{}),
		held:    make(map[string]Resource),
		aliased: make(map[string]string),
	}
}

func (s *deltaNames) typ() *resource.Descriptor { return s.resource }

func (s *deltaNames) opened() bool { return s.asked }

func (s *deltaNames) wanted() bool { return len(s.names) > 0 || len(s.retaken) > 0 }

func (s *deltaNames) all() []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(s.names)), maps.Keys(s.retaken))
}

func (s *deltaNames) add(name string) {
	if s.has(name) {
		return
	}
	if _, ok := s.dropped[name]; ok {
		s.retaken[name] = struct{}{}
		return
	}
	if s.former.take(name) || s.unlinger(name) {
		s.dropped[name], s.retaken[name] = struct{}{}, struct{}{}
		return
	}
	s.names[name], s.fresh[name] = struct{}{}, struct{}{}
	if isCollection(name) {
		if s.unanswered == nil {
			s.unanswered = make(map[string]struct{})
		}
		s.unanswered[name] = struct{}{}
	}
	// A watcher by this name was not notified through another name.
	s.forget(s.aliased[name])
	if len(s.held[name].Aliases) > 0 {
		s.forget(name)
	}
}

func (s *deltaNames) remove(name string) {
	s.overdue.forget(name)
	if _, ok := s.retaken[name]; ok {
		delete(s.retaken, name)
		if s.linger(name) {
			delete(s.dropped, name)
		}
		return
	}
	if !s.has(name) {
		return
	}
	if _, unsent := s.fresh[name]; !unsent && !s.linger(name) {
		s.dropped[name] = struct{}{}
	}
	delete(s.names, name)
	delete(s.fresh, name)
	delete(s.unanswered, name)
	if !isCollection(name) {
		s.dropUncovered(name)
		s.dropUncovered(s.aliased[name])
		return
	}
	s.ended = s.ended || s.asked
	room := len(s.held)
	prefix, _, _ := strings.Cut(name, "*") // of the names of members, and of few others
	for n := range s.held {
		if strings.HasPrefix(n, prefix) && s.dropUncovered(n) && s.asked {
			s.former.add(n, room)
		}
	}
	s.endLingering()
}

func (s *deltaNames) has(name string) bool {
	_, ok := s.names[name]
	return ok
}

// isCollection reports whether a name is the wildcard or a glob collection.
func isCollection(name string) bool {
	if name == resource.Wildcard {
		return true
	}
	if !strings.Contains(name, "/*") {
		return false
	}
	n, err := xdstp.Parse(name)
	return err == nil && n.IsGlob()
}

// anyCollection reports whether there is a collection among names.
func anyCollection(names map[string]struct{}) bool {
	for name := range names {
		if isCollection(name) {
			return true
		}
	}
	return false
}

// due reports whether to send a request now. Answers wait only if the server resends rejected
// content.
func (s *deltaNames) due(now time.Time) bool {
	switch {
	case s.answer(now) >= 0:
		return true
	case !s.asked:
		return len(s.names) > 0
	case s.overdue.ready(now):
		return true
	case !s.changed():
		return false
	}
	return !now.Before(s.pauseUntil) || len(s.fresh) >= s.burst
}

// answer returns the index of the first answer that may be sent, or -1.
func (s *deltaNames) answer(now time.Time) int {
	return slices.IndexFunc(s.answers, func(a answer) bool { return !now.Before(a.until) })
}

// changed reports whether there are changes to send besides answers.
func (s *deltaNames) changed() bool { return len(s.fresh) > 0 || len(s.dropped) > 0 }

func (s *deltaNames) next() (at time.Time, ok bool) {
	earliest := func(t time.Time, has bool) {
		if has && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	earliest(s.pauseUntil, s.asked && s.changed())
	earliest(s.replayed, !s.replayed.IsZero())
	earliest(s.overdue.at, !s.overdue.at.IsZero())
	for _, a := range s.answers {
		earliest(a.until, true)
	}
	return at, ok
}

// send returns the next request: the answer to one response, or else the changes since the last
// request. The first request of a stream lists all names, with the versions of the resources that
// the client holds.
func (s *deltaNames) send(now time.Time) (req Request, added []string) {
	req = Request{Type: s.resource, Delta: true}
	if i := s.answer(now); i >= 0 {
		a := s.answers[i]
		s.answers = slices.Delete(s.answers, i, i+1)
		req.Nonce, req.Reject = a.nonce, a.reject
		if a.run != nil {
			req.Repeats, req.Quiet = a.run.repeats, a.run.answered(now)
		}
		return req, nil
	}
	s.overdue.take(now)
	if _, ended := s.dropped[resource.Wildcard]; ended && s.legacy && len(s.fresh) == 0 {
		// Some servers ignore unsubscribing from a wildcard that was never named as "*".
		s.legacy, req.Subscribe = false, []string{resource.Wildcard}
		return req, nil
	}
	room := maxRequest
	req.Unsubscribe = fit(slices.Sorted(maps.Keys(s.dropped)), &room)
	added = fit(slices.Sorted(maps.Keys(s.fresh)), &room)
	req.Subscribe = added
	if s.asked {
		req.Subscribe = s.repeat(added, &room)
		req.Repeated = len(req.Subscribe) - len(added)
		s.resent(req.Subscribe)
		s.resent(req.Unsubscribe)
	} else {
		s.announce(room)
		req.Versions = maps.Clone(s.announced)
		if len(added) == 1 && added[0] == resource.Wildcard {
			req.Subscribe = nil // a wildcard alone is sent without names, as every server understands it
		}
	}
	s.legacy = (s.legacy || !s.asked) && len(req.Subscribe) == 0
	s.asked, s.burst = true, len(added)
	if len(added) == len(s.fresh) {
		s.fresh = make(map[string]struct{})
	}
	for _, name := range added {
		delete(s.fresh, name)
	}
	s.pauseUntil = now.Add(time.Duration(len(added)) * s.perName)
	for _, name := range req.Unsubscribe {
		delete(s.dropped, name)
	}
	s.retake()
	return req, added
}

// repeat returns the names together with the overdue ones, as many as there is room for.
func (s *deltaNames) repeat(names []string, room *int) []string {
	if len(s.overdue.due) == 0 {
		return names
	}
	maps.DeleteFunc(s.overdue.due, func(name string, _ struct{}) bool { return !s.has(name) }) // it is dropped again
	again := fit(slices.Sorted(maps.Keys(s.overdue.due)), room)
	for _, name := range again {
		delete(s.overdue.due, name)
	}
	return slices.Concat(names, again)
}

// resent records that the server may send the resources of the names in a request even if they have not changed, and
// all members of a named collection. The end of a name has that effect, too: a server does not know whether the client
// keeps a resource that belongs to a collection.
func (s *deltaNames) resent(names []string) {
	for _, name := range names {
		delete(s.announced, name)
		delete(s.announced, s.aliased[name])
		if isCollection(name) {
			clear(s.announced)
		}
	}
}

// fit returns as many of the names as fit into a request.
func fit(names []string, room *int) []string {
	for i, name := range names {
		if *room -= len(name); *room < 0 {
			return names[:i]
		}
	}
	return names
}

// retake subscribes again to names whose end the server has seen.
func (s *deltaNames) retake() {
	for name := range s.retaken {
		if _, waits := s.dropped[name]; !waits {
			delete(s.retaken, name)
			s.add(name)
		}
	}
}

func (s *deltaNames) received(resp *Response, now time.Time) {
	a := answer{nonce: resp.Nonce, reject: resp.Reject}
	if resp.Reject != "" {
		a.run = s.rejections.reject(resp, now)
		a.until = a.run.until
	}
	s.answers = append(s.answers, a)
	if extra := len(s.answers) - maxAnswers; extra > 0 {
		s.answers = slices.Clone(s.answers[extra:])
	}
	delete(s.unanswered, resource.Wildcard)
	for r := range resp.Resources {
		s.mentioned(r, now)
	}
	if len(s.announced) == 0 {
		s.replayed = time.Time{}
	}
}

// mentioned handles a resource of a response.
func (s *deltaNames) mentioned(r Resource, now time.Time) {
	if len(s.unanswered) > 0 {
		delete(s.unanswered, r.Name) // an empty one
		delete(s.unanswered, collectionOf(r.Name))
	}
	switch r.Verdict {
	case Accepted:
		if v, ok := s.announced[r.Name]; ok && v == r.Version && !r.Heartbeat && s.replayed.IsZero() {
			s.replayed = now.Add(s.replay)
		}
		delete(s.announced, r.Name)
		s.former.take(r.Name)
		s.hold(r)
	case Rejected:
		s.resent([]string{r.Name}) // once it is valid again, also if the error is of an alias
	case Removed:
		s.forget(r.Name)
		s.former.take(r.Name)
	}
}

// late subscribes to the name again: the server sends the resource even if it has not
// changed. A server may believe that it has sent the name as a member of a collection that
// has ended. Then late unsubscribes from the name first.
func (s *deltaNames) late(name string, now time.Time) {
	if _, unsent := s.fresh[name]; s.has(name) && !unsent {
		again := s.ended && !isCollection(name)
		if again {
			delete(s.names, name)
			s.dropped[name], s.retaken[name] = struct{}{}, struct{}{}
		}
		s.overdue.add(name, now, again)
	}
}

func (s *deltaNames) answered(name string) { s.overdue.forget(name) }

// reset clears the state of a stream that has ended.
func (s *deltaNames) reset() {
	s.dropped = make(map[string]struct{})
	s.former, s.lingering, s.ended = formerMembers{}, nil, false
	s.overdue.reset()
	s.retake()
	if len(s.names) == 0 {
		s.names, s.retaken = make(map[string]struct{}), make(map[string]struct{})
	}
	s.fresh = maps.Clone(s.names)
	s.asked, s.legacy, s.answers, s.announced, s.replayed = false, false, nil, nil, time.Time{}
}
