package memoryads

import (
	"fmt"
	"slices"
)

// A record is what a server remembers of its clients over all streams. Its keys
// are a type URL and a version or name.
type record struct {
	violations []string
	sent       map[string]bool // versions that were sent: of the type, or of a resource
	explicit   map[string]bool // names that were subscribed to
	learned    map[string]bool // names that were sent for a wildcard or glob
	gone       map[string]bool // names whose removal was answered, and that were not sent since
}

func key(typeURL, s string) string { return typeURL + " " + s }

// Violations are what clients did that the protocol forbids, oldest first.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.record.violations)
}

// Unanswered are the responses that were received and neither ACKed nor NACKed.
// While the client is busy there may be some; at rest there are none.
func (s *Server) Unanswered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, st := range s.streams {
		for _, nonce := range st.protocol.unanswered() {
			all = append(all, fmt.Sprintf("stream %d: response %s", st.number, nonce))
		}
	}
	slices.Sort(all)
	return all
}
