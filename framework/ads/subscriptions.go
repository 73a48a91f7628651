package ads

import (
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// subscriptions is what the machine knows of one type.
type subscriptions struct {
	typ *resource.Type

	names []string // wanted, in no order that means anything
	sent  []bool   // beside names: stood in a request on this stream
	at    map[string]int

	// dropped names stood in a request on this stream and are not wanted any
	// longer, but no request without them was sent yet. One that is wanted again
	// waits in retaken: the server sends a resource again only to a client that
	// has been seen without it.
	dropped map[string]struct{}
	retaken map[string]struct{}

	version string // last accepted; outlives streams
	nonce   string // of the last response on this stream

	opened  bool     // a request of this type was sent on this stream
	changed bool     // names differ from the last request
	unsent  int      // names that no request on this stream held
	answer  bool     // the last response waits for its ACK or NACK
	reject  string   // not empty: it is a NACK
	list    []string // names as last sent; shared with requests, never written to

	pauseUntil time.Time // before then, new names alone make no request
}

func newSubscriptions(t *resource.Type) *subscriptions {
	return &subscriptions{
		typ:     t,
		at:      make(map[string]int),
		dropped: make(map[string]struct{}),
		retaken: make(map[string]struct{}),
	}
}

func (s *subscriptions) wanted() bool { return len(s.names) > 0 || len(s.retaken) > 0 }

func (s *subscriptions) add(name string) {
	if _, ok := s.at[name]; ok {
		return
	}
	if _, ok := s.dropped[name]; ok {
		s.retaken[name] = struct{}{}
		return
	}
	s.at[name] = len(s.names)
	s.names = append(s.names, name)
	s.sent = append(s.sent, false)
	s.unsent++
	s.changed = true
}

func (s *subscriptions) remove(name string) {
	delete(s.retaken, name)
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
	s.names[i], s.sent[i] = s.names[last], s.sent[last]
	s.at[s.names[i]] = i
	s.names, s.sent = s.names[:last], s.sent[:last]
	delete(s.at, name)
	s.changed = true
}

// due reports whether a request should leave now. Answers never wait.
func (s *subscriptions) due(now time.Time) bool {
	switch {
	case s.answer:
		return true
	case !s.changed:
		return false
	case !s.opened:
		return len(s.names) > 0 // an empty first list would mean a wildcard
	}
	return !now.Before(s.pauseUntil) || s.unsent >= len(s.list)
}

// send makes the next request and returns the names that are new on this stream.
func (s *subscriptions) send(now time.Time, perName time.Duration) (req Send, asked []string) {
	if s.changed || s.list == nil {
		s.list = slices.Clone(s.names)
		s.pauseUntil = now.Add(time.Duration(len(s.list)) * perName)
		asked = make([]string, 0, s.unsent)
		for i, sent := range s.sent {
			if !sent {
				asked = append(asked, s.names[i])
				s.sent[i] = true
			}
		}
	}
	req = Send{Type: s.typ, Version: s.version, Nonce: s.nonce, Names: s.list, Reject: s.reject}
	s.opened, s.changed, s.answer, s.reject, s.unsent = true, false, false, "", 0
	clear(s.dropped)
	for name := range s.retaken {
		s.add(name)
	}
	clear(s.retaken)
	return req, asked
}

// reset forgets what belongs to a stream that is gone.
func (s *subscriptions) reset() {
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
	s.opened, s.answer, s.list = false, false, nil
	s.changed = len(s.names) > 0
	if !s.changed {
		s.version = "" // whoever has nothing left has no version of it
	}
	s.pauseUntil = time.Time{}
}
