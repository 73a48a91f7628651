package memoryads

import (
	"fmt"
	"slices"
	"time"
)

// A record has the client state that a server keeps across streams. Its keys are a type URL
// and a version or name.
type record struct {
	violations []string
	sent       map[string]bool // versions that were sent: of the type, or of a resource
	explicit   map[string]bool // names that were subscribed to
	learned    map[string]bool // names that were sent for a wildcard or glob
	gone       map[string]bool // names whose removal was answered, and that were not sent since
}

func key(typeURL, s string) string { return typeURL + " " + s }

// Watched says that somebody watches a name, not only a collection that it is a member of.
func (s *Server) Watched(typeURL, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.explicit[key(typeURL, name)] = true
}

// Violations returns the clients' protocol violations, oldest first.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.record.violations)
}

// Unanswered returns the received responses that were neither ACKed nor NACKed.
func (s *Server) Unanswered() []string { return s.UnansweredFor(0) }

// UnansweredFor are those of them that the client took at least that long ago. It may
// hold the NACK of content back that is sent again and again.
func (s *Server) UnansweredFor(d time.Duration) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, st := range s.streams {
		for nonce, since := range st.protocol.unanswered() {
			if time.Since(since) < d {
				continue
			}
			all = append(all, fmt.Sprintf("stream %d: response %s", st.number, nonce))
		}
	}
	slices.Sort(all)
	return all
}
