package ads

import (
	"maps"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// sotwNames is what the machine knows of one type in the state-of-the-world variant.
type sotwNames struct {
	resource *resource.Type

	names []string // wanted; in no order that means anything
	sent  []bool   // beside names: stood in a request on this stream
	lent  int      // of names, those at the front that requests share; not to be written to
	at    map[string]int

	// dropped names stood in a request on this stream and are not wanted any
	// longer, but no request without them was sent yet. One that is wanted again
	// waits in retaken: the server sends a resource again only to a client that
	// has been seen without it.
	dropped map[string]struct{}
	retaken map[string]struct{}
	doubts  doubts

	version string // last accepted; outlives streams
	renewed bool   // the next stream begins without it
	nonce   string // of the last response on this stream

	asked  bool     // a request of this type was sent on this stream
	legacy bool     // all of them asked for the wildcard, by having no names
	unsent int      // names that no request on this stream held
	answer bool     // the last response waits for its ACK or NACK
	reject string   // not empty: it is a NACK
	list   []string // names as last sent; shared with requests, never written to

	pauseUntil time.Time // before then, new names alone make no request
}

func newSotwNames(t *resource.Type) *sotwNames {
	return &sotwNames{
		resource: t,
		at:       make(map[string]int),
		dropped:  make(map[string]struct{}),
		retaken:  make(map[string]struct{}),
		doubts:   newDoubts(),
	}
}

func (s *sotwNames) typ() *resource.Type { return s.resource }

func (s *sotwNames) opened() bool { return s.asked }

func (s *sotwNames) wanted() bool { return len(s.names) > 0 || len(s.retaken) > 0 }

func (s *sotwNames) add(name string) {
	if _, ok := s.at[name]; ok {
		return
	}
	if _, ok := s.dropped[name]; ok {
		s.retaken[name] = struct{}{}
		return
	}
	if s.doubts.take(name) && s.answer {
		s.retaken[name] = struct{}{} // the ACK shows it dropped
		return
	}
	s.at[name] = len(s.names)
	s.names = append(s.names, name)
	s.sent = append(s.sent, false)
	s.unsent++
}

func (s *sotwNames) remove(name string) {
	s.doubts.leave(name)
	delete(s.retaken, name)
	s.unlist(name)
}

// unlist takes a name off the list.
func (s *sotwNames) unlist(name string) {
	i, ok := s.at[name]
	if !ok {
		return
	}
	if s.sent[i] {
		s.dropped[name] = struct{}{}
	} else {
		s.unsent--
	}
	last := len(s.names) - 1
	if i < s.lent {
		s.names, s.lent = slices.Clone(s.names), 0
	}
	s.names[i], s.sent[i] = s.names[last], s.sent[last]
	s.at[s.names[i]] = i
	s.names, s.sent = s.names[:last], s.sent[:last]
	delete(s.at, name)
}

// changed reports whether names differ from the last request.
func (s *sotwNames) changed() bool { return s.unsent > 0 || len(s.dropped) > 0 }

func (s *sotwNames) all() []string {
	return append(slices.Clone(s.names), slices.Collect(maps.Keys(s.retaken))...)
}

// due reports whether a request should leave now. Answers never wait.
func (s *sotwNames) due(now time.Time) bool {
	switch {
	case s.answer:
		return true
	case !s.changed():
		return false
	case !s.asked:
		return len(s.names) > 0 // an empty first list would mean a wildcard
	}
	return !now.Before(s.pauseUntil) || s.unsent >= len(s.list)
}

func (s *sotwNames) next() (time.Time, bool) { return s.pauseUntil, s.changed() && s.asked }

// send makes the next request. A wildcard alone goes without names, as every server
// understands it. To unsubscribe from that takes a request that spells it out, since
// another without names would mean it again.
func (s *sotwNames) send(now time.Time, perName time.Duration) (req Send, asked []string) {
	only := len(s.names) == 1 && s.names[0] == resource.Wildcard
	if s.legacy && len(s.names) == 0 {
		s.legacy = false
		return s.request([]string{resource.Wildcard}), nil
	}
	if s.changed() || s.list == nil {
		s.list = slices.Clip(s.names)
		s.lent = len(s.list)
		s.pauseUntil = now.Add(time.Duration(len(s.list)) * perName)
		asked = make([]string, 0, s.unsent)
		for i, sent := range s.sent {
			if !sent {
				asked = append(asked, s.names[i])
				s.sent[i] = true
			}
		}
	}
	list := s.list
	if s.legacy = only && (s.legacy || !s.asked); s.legacy {
		list = nil
	}
	req = s.request(list)
	s.asked, s.unsent = true, 0
	for name := range s.dropped {
		s.doubts.drop(name)
	}
	clear(s.dropped)
	for name := range s.retaken {
		s.add(name)
	}
	clear(s.retaken)
	return req, asked
}

func (s *sotwNames) request(list []string) Send {
	req := Send{Type: s.resource, Version: s.version, Nonce: s.nonce, Names: list, Reject: s.reject}
	s.answer, s.reject = false, ""
	return req
}

func (s *sotwNames) received(ev Received, _ time.Time) {
	s.nonce, s.answer, s.reject, s.renewed = ev.Nonce, true, ev.Reject, false
	if ev.Reject == "" {
		s.version = ev.Version
	}
	for name := range s.doubts.received(ev, s.wasSent) {
		if _, ok := s.at[name]; ok && (!s.wasSent(name) || s.doubts.again(name)) {
			s.unlist(name)
			s.retaken[name] = struct{}{} // the ACK shows it dropped
		}
	}
}

func (s *sotwNames) wasSent(name string) bool {
	i, ok := s.at[name]
	return ok && s.sent[i]
}

func (s *sotwNames) curious() bool { return len(s.doubts.taken) > 0 }

// Versions are those of responses: what is held of them, the server does not ask.
func (s *sotwNames) forget(string) {}

// renew waits for the end of a stream on which the version was told already: within
// a stream, only a response changes it.
func (s *sotwNames) renew() {
	if s.renewed = true; !s.asked {
		s.version = ""
	}
}

func (s *sotwNames) stale(time.Time) []string { return nil }

// reset forgets what belongs to a stream that is gone.
func (s *sotwNames) reset() {
	s.doubts.reset()
	clear(s.dropped)
	for name := range s.retaken {
		s.add(name)
	}
	clear(s.retaken)
	for i := range s.sent {
		s.sent[i] = false
	}
	s.unsent = len(s.names)
	s.nonce, s.reject = "", ""
	s.asked, s.legacy, s.answer, s.list = false, false, false, nil
	if len(s.names) == 0 || s.renewed {
		s.version = "" // whoever has nothing left has no version of it
	}
	s.renewed = false
}
