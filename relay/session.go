package relay

import "github.com/xdsforge/xdsforge/framework/source"

// A session is the use of a relay by one reader. The mutex of the relay guards its fields.
type session struct {
	relay  *Relay
	inner  source.Session // of the memory
	wanted map[source.Interest]*upstream
	ended  bool
}

// Want implements [source.Session]. The memory learns of an interest only when upstream has answered it:
// the memory takes a name without a resource for one that does not exist.
func (s *session) Want(add, drop []source.Interest) {
	r := s.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.ended || r.closed {
		return
	}
	s.inner.Want(nil, drop) // first, because the relay may forget their resources then
	for _, i := range drop {
		if u := s.wanted[i]; u != nil {
			delete(s.wanted, i)
			u.drop(s)
		}
	}
	var known []source.Interest
	for _, i := range add {
		if i.Name == source.Everything {
			known = append(known, i)
			continue
		}
		if s.wanted[i] != nil {
			continue
		}
		u := r.use(i)
		s.wanted[i] = u
		u.users[s] = struct{}{}
		if u.known {
			known = append(known, i)
		}
	}
	s.inner.Want(known, nil)
}

// Report implements [source.Session].
func (s *session) Report(x source.Rejection) { s.inner.Report(x) }

// leave ends all interests of the session.
func (s *session) leave() {
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.ended = true
	for _, u := range s.wanted {
		u.drop(s)
	}
	s.wanted = nil
}
