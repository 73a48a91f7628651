package ads

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// maxAnswers bounds the responses that wait for their ACK or NACK because the
// server does not read. The oldest are given up.
const maxAnswers = 64

// maxRequest bounds the names and versions in one request, in bytes. Servers on gRPC
// take messages of 4 MiB, if nobody told them otherwise; a client that holds more than
// that could never come back.
const maxRequest = 2 << 20

// deltaNames is what the machine knows of one type in the incremental variant.
type deltaNames struct {
	resource *resource.Type
	replay   time.Duration

	names map[string]struct{} // wanted
	fresh map[string]struct{} // of them, those that no request on this stream held

	// dropped names were subscribed to on this stream and are not wanted any longer,
	// but no request has said so yet. One that is wanted again waits in retaken: the
	// two requests must not be one.
	dropped map[string]struct{}
	retaken map[string]struct{}

	// held are the resources that the server sent and that are in use, whatever
	// they were asked for as: itself, an alias, a collection. It outlives streams.
	held    map[string]Accepted
	aliased map[string]string // what is held, by its aliases
	// told are those that the stream's first request mentioned, as long as the
	// server has not. One that comes again as it was says that the server does not
	// go by what it is told; then all of them must come, before replayed.
	told     map[string]string
	replayed time.Time

	asked      bool // a request of this type was sent on this stream
	answers    []answer
	pauseUntil time.Time // before then, new names alone make no request
	burst      int       // names in the last request
}

type answer struct{ nonce, reject string }

func newDeltaNames(t *resource.Type, replay time.Duration) *deltaNames {
	return &deltaNames{
		resource: t, replay: replay,
		names:   make(map[string]struct{}),
		fresh:   make(map[string]struct{}),
		dropped: make(map[string]struct{}),
		retaken: make(map[string]struct{}),
		held:    make(map[string]Accepted),
		aliased: make(map[string]string),
	}
}

func (s *deltaNames) typ() *resource.Type { return s.resource }

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
	s.names[name], s.fresh[name] = struct{}{}, struct{}{}
	// Whoever wants it by this name was not told of it by another one.
	s.forget(s.aliased[name])
	if len(s.held[name].Aliases) > 0 {
		s.forget(name)
	}
}

func (s *deltaNames) remove(name string) {
	delete(s.retaken, name)
	if !s.has(name) {
		return
	}
	if _, unsent := s.fresh[name]; !unsent {
		s.dropped[name] = struct{}{}
	}
	delete(s.names, name)
	delete(s.fresh, name)
	if name != resource.Wildcard && !isGlob(name) {
		s.settle(name)
		s.settle(s.aliased[name])
		return
	}
	prefix, _, _ := strings.Cut(name, "*") // of the names of members, and of few others
	for n := range s.held {
		if strings.HasPrefix(n, prefix) {
			s.settle(n)
		}
	}
}

func (s *deltaNames) has(name string) bool {
	_, ok := s.names[name]
	return ok
}

func isGlob(name string) bool {
	n, err := xdstp.Parse(name)
	return err == nil && n.IsGlob()
}

// due reports whether a request should leave now. Answers never wait.
func (s *deltaNames) due(now time.Time) bool {
	switch {
	case len(s.answers) > 0:
		return true
	case !s.asked:
		return len(s.names) > 0
	case !s.changed():
		return false
	}
	return !now.Before(s.pauseUntil) || len(s.fresh) >= s.burst
}

// changed reports whether there is something to say beside answers.
func (s *deltaNames) changed() bool { return len(s.fresh) > 0 || len(s.dropped) > 0 }

func (s *deltaNames) next() (time.Time, bool) {
	if s.asked && s.changed() {
		return s.pauseUntil, true
	}
	return s.replayed, !s.replayed.IsZero()
}

// send makes the next request: what changed since the last one, and the answer to
// one response. The first of a stream has everything, with the versions of what is
// held. A wildcard alone goes without names then, as every server understands it.
func (s *deltaNames) send(now time.Time, perName time.Duration) (req Send, asked []string) {
	req = Send{Type: s.resource, Delta: true}
	if len(s.answers) > 0 {
		req.Nonce, req.Reject = s.answers[0].nonce, s.answers[0].reject
		s.answers = s.answers[1:]
	}
	room := maxRequest
	req.Unsubscribe = fit(slices.Sorted(maps.Keys(s.dropped)), &room)
	asked = fit(slices.Sorted(maps.Keys(s.fresh)), &room)
	if s.asked {
		for _, name := range asked {
			// The server sends it, even if it is what it was; of a collection, all.
			delete(s.told, name)
			if name == resource.Wildcard || isGlob(name) {
				clear(s.told)
			}
		}
	}
	req.Subscribe = asked
	if !s.asked {
		s.tell(room)
		req.Versions = maps.Clone(s.told)
		if len(asked) == 1 && asked[0] == resource.Wildcard {
			req.Subscribe = nil
		}
	}
	s.asked, s.burst = true, len(asked)
	if len(asked) == len(s.fresh) {
		s.fresh = make(map[string]struct{})
	}
	for _, name := range asked {
		delete(s.fresh, name)
	}
	s.pauseUntil = now.Add(time.Duration(len(asked)) * perName)
	for _, name := range req.Unsubscribe {
		delete(s.dropped, name)
	}
	s.retake()
	return req, asked
}

// fit returns as many of the names as a request has room for.
func fit(names []string, room *int) []string {
	for i, name := range names {
		if *room -= len(name); *room < 0 {
			return names[:i]
		}
	}
	return names
}

// retake wants those names again that were seen dropped.
func (s *deltaNames) retake() {
	for name := range s.retaken {
		if _, waits := s.dropped[name]; !waits {
			delete(s.retaken, name)
			s.add(name)
		}
	}
}

func (s *deltaNames) received(ev Received, now time.Time) {
	s.answers = append(s.answers, answer{ev.Nonce, ev.Reject})
	if extra := len(s.answers) - maxAnswers; extra > 0 {
		s.answers = slices.Clone(s.answers[extra:])
	}
	for _, a := range ev.Accepted {
		if v, ok := s.told[a.Name]; ok && v == a.Version && !a.Heartbeat && s.replayed.IsZero() {
			s.replayed = now.Add(s.replay)
		}
		delete(s.told, a.Name)
		s.hold(a)
	}
	for _, name := range ev.Rejected {
		delete(s.told, name)
	}
	for _, name := range ev.Removed {
		s.forget(name)
	}
	if len(s.told) == 0 {
		s.replayed = time.Time{}
	}
}

func (s *deltaNames) curious() bool { return true }

// reset forgets what belongs to a stream that is gone.
func (s *deltaNames) reset() {
	clear(s.dropped)
	s.retake()
	s.fresh = maps.Clone(s.names)
	s.asked, s.answers, s.told, s.replayed = false, nil, nil, time.Time{}
}
