package etcd

import (
	"strings"
	"sync"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A session passes on the names that the memory lacks only after a check has confirmed that the store has read the last
// commit. A resource that was committed before somebody subscribes to it is therefore never reported as missing. If the
// check fails, the session answers from what there is.
type session struct {
	source.Session // of the memory
	follow         *follower

	mu      sync.Mutex // held during calls of the memory
	waiting map[source.Interest]struct{}
}

// Want implements [source.Session].
func (s *session) Want(add, drop []source.Interest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range drop {
		delete(s.waiting, i)
	}
	var known []source.Interest
	for _, i := range add {
		if s.follow.certain(i) {
			known = append(known, i)
		} else {
			s.waiting[i] = struct{}{}
		}
	}
	s.Session.Want(known, drop)
	if len(s.waiting) > 0 {
		s.follow.confirm(s)
	}
}

// Reached reports whether the sink has everything up to a revision; see the session of the memory.
func (s *session) Reached(epoch string, revision, applied uint64) bool {
	p, ok := s.Session.(interface {
		Reached(epoch string, revision, applied uint64) bool
	})
	return ok && p.Reached(epoch, revision, applied)
}

// release passes on what waits for a check.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]source.Interest, 0, len(s.waiting))
	for i := range s.waiting {
		list = append(list, i)
	}
	clear(s.waiting)
	s.Session.Want(list, nil)
}

// certain reports whether the answer to an interest needs no check: collections, and names that the memory has.
func (f *follower) certain(i source.Interest) bool {
	if i.Name == source.Everything || i.Name == source.Wildcard {
		return true
	}
	if strings.HasPrefix(i.Name, "xdstp:") {
		if n, err := xdstp.Parse(i.Name); err == nil && n.IsGlob() {
			return true
		}
	}
	_, _, ok := f.memory.Get(source.Key(i))
	return ok
}

// confirm has a check begin soon, and the session released after it.
func (f *follower) confirm(s *session) {
	f.mu.Lock()
	f.unconfirmed[s] = struct{}{}
	f.mu.Unlock()
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// takeUnconfirmed removes and returns the sessions that wait for a check.
func (f *follower) takeUnconfirmed() map[*session]struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.unconfirmed
	f.unconfirmed = make(map[*session]struct{})
	return list
}

// releaseAll passes on what waits in sessions.
func releaseAll(list map[*session]struct{}) {
	for s := range list {
		s.release()
	}
}
