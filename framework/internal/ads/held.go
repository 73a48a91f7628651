package ads

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func (s *deltaNames) forget(name string) {
	s.drop(name)
	delete(s.announced, name)
}

// drop records that a resource is no longer held.
func (s *deltaNames) drop(name string) {
	for _, alias := range s.held[name].Aliases {
		if s.aliased[alias] == name {
			delete(s.aliased, alias)
		}
	}
	delete(s.held, name)
	if len(s.held) == 0 { // maps never shrink
		s.held = make(map[string]Resource)
	}
}

// hold records resources that were taken into use. It ignores a heartbeat of a resource that is not
// in use, because it has expired.
func (s *deltaNames) hold(a Resource) {
	if a.Heartbeat {
		return
	}
	s.drop(a.Name)
	if !s.covered(a) {
		return
	}
	s.held[a.Name] = a
	for _, alias := range a.Aliases {
		s.aliased[alias] = a.Name
	}
}

func (s *deltaNames) renew() {
	clear(s.held)
	clear(s.aliased)
	clear(s.announced)
}

// dropUncovered drops a resource that is no longer subscribed to, and reports whether it did.
func (s *deltaNames) dropUncovered(name string) bool {
	h, ok := s.held[name]
	if !ok || s.covered(h) {
		return false
	}
	s.forget(name)
	return true
}

// covered reports whether a resource is subscribed to, under any name.
func (s *deltaNames) covered(h Resource) bool {
	return s.has(h.Name) || slices.ContainsFunc(h.Aliases, s.has) || s.collected(h.Name)
}

// collected reports whether a collection that may contain the name is subscribed to. New-style
// names are members only of globs, as in package authority.
func (s *deltaNames) collected(name string) bool { return s.has(collectionOf(name)) }

// collectionOf returns the collection that may contain a name.
func collectionOf(name string) string {
	n, err := xdstp.Parse(name)
	if err != nil || !n.IsXdstp() {
		return resource.Wildcard
	}
	if glob, ok := n.Glob(); ok {
		return glob.String()
	}
	return ""
}

// announce selects the versions for a stream's first request. The server resends the resources for
// which there is no room. It also resends the members of a new collection: a server sends nothing for a collection whose
// members the client has, and that would not answer the subscription.
func (s *deltaNames) announce(room int) {
	if len(s.held) == 0 {
		return
	}
	s.announced = make(map[string]string, len(s.held))
	for name, h := range s.held {
		if len(s.unanswered) > 0 {
			if _, ok := s.unanswered[collectionOf(name)]; ok {
				continue
			}
		}
		if room -= len(name) + len(h.Version); room < 0 {
			return
		}
		s.announced[name] = h.Version
	}
}

func (s *deltaNames) stale(now time.Time) []string {
	if s.replayed.IsZero() || now.Before(s.replayed) {
		return nil
	}
	names := slices.Sorted(maps.Keys(s.announced))
	for _, name := range names {
		s.drop(name)
	}
	s.announced, s.replayed = nil, time.Time{}
	return names
}

// maxLingering bounds the names that linger. The machine unsubscribes from the others at once.
const maxLingering = 1 << 16

// linger keeps the subscription to a name that is no longer wanted, and reports whether it
// does. It keeps the subscription to a resource that the client holds while a collection
// that contains it is subscribed to. istiod keeps one set of names for the names that a
// client subscribed to and for the members of a wildcard that it sent. After a client
// unsubscribed from such a name, istiod never reports the removal of the resource.
func (s *deltaNames) linger(name string) bool {
	if _, held := s.held[name]; !held || isCollection(name) || len(s.lingering) >= maxLingering || !s.collected(name) {
		return false
	}
	if s.lingering == nil {
		s.lingering = make(map[string]struct{})
	}
	s.lingering[name] = struct{}{}
	return true
}

// unlinger removes a name, and reports whether it was there.
func (s *deltaNames) unlinger(name string) bool {
	_, ok := s.lingering[name]
	delete(s.lingering, name)
	if len(s.lingering) == 0 {
		s.lingering = nil // a map keeps its memory
	}
	return ok
}

// endLingering unsubscribes from the names whose collection has ended.
func (s *deltaNames) endLingering() {
	for name := range s.lingering {
		if !s.collected(name) {
			s.unlinger(name)
			s.former.take(name)
			s.dropped[name] = struct{}{}
		}
	}
}

// maxFormerMembers bounds the names in a [formerMembers]. Those that it does not take are unsubscribed
// from once they are overdue.
const maxFormerMembers = 1 << 18

// formerMembers has the names of former members of collections that have ended. The server may
// remember that it sent them, and sends one again only after it was unsubscribed from. There can be
// as many as a collection has members, and few of them are ever asked for. So it keeps hashes. Two
// names rarely have the same hash. Then a request unsubscribes from a name that the server did not
// send, or a name is found to be overdue first.
type formerMembers struct {
	seed   maphash.Seed
	hashes map[hash]struct{}
}

// A hash is of bytes, since a map of integers and empty values takes almost twice the
// memory.
type hash [8]byte

func (p *formerMembers) of(name string) (h hash) {
	binary.NativeEndian.PutUint64(h[:], maphash.String(p.seed, name))
	return h
}

// add adds a name. The set has room for so many more, if it was empty.
func (p *formerMembers) add(name string, room int) {
	if len(p.hashes) == 0 { // a map that grows takes more memory
		p.seed, p.hashes = maphash.MakeSeed(), make(map[hash]struct{}, min(room, maxFormerMembers))
	}
	if len(p.hashes) < maxFormerMembers {
		p.hashes[p.of(name)] = struct{}{}
	}
}

// take removes a name, and reports whether it was there.
func (p *formerMembers) take(name string) bool {
	if len(p.hashes) == 0 {
		return false
	}
	h := p.of(name)
	_, ok := p.hashes[h]
	delete(p.hashes, h)
	if len(p.hashes) == 0 {
		p.hashes = nil // a map keeps its memory
	}
	return ok
}
