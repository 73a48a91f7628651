package ads

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
			s.parted.take(name)
			s.dropped[name] = struct{}{}
		}
	}
}
