package adslog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Accepted reports whether at least one open stream subscribes to the type, and every such stream
// has answered all responses and accepted the given bodies of the names that it subscribes to. It
// must also have accepted that no other resource exists, unless the protocol cannot say so: a
// state-of-the-world response of a type that is not complete. If not, why says which stream lacks
// something.
func (l *Log) Accepted(url string, bodies map[string]string) (ok bool, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lacks []string
	found := false
	for _, s := range l.streams {
		t, ok := s.types[url]
		if !ok || len(t.names) == 0 {
			continue
		}
		found = true
		if lack := t.lacks(bodies); lack != "" {
			lacks = append(lacks, fmt.Sprintf("stream %d, which subscribes to %q, %s", s.number, t.sorted(), lack))
		}
	}
	if !found {
		return false, fmt.Sprintf("none of %d open streams subscribes to the type", len(l.streams))
	}
	return len(lacks) == 0, strings.Join(lacks, "; ")
}

// lacks says why the client has not accepted the bodies; "" if it has.
func (t *subscription) lacks(bodies map[string]string) string {
	if t.rejected != "" {
		return fmt.Sprintf("rejected the last response: %s", t.rejected)
	}
	has := make(map[string]bool)
	for _, body := range t.has {
		has[body] = true
	}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		if t.wants(name) && !has[bodies[name]] {
			return fmt.Sprintf("has not accepted the newest %q; %d responses are unanswered", name, len(t.open))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.has)) {
		if _, exists := bodies[name]; (t.delta || t.kind.Complete) && t.wants(name) && !exists {
			return fmt.Sprintf("has not accepted the removal of %q; %d responses are unanswered", name, len(t.open))
		}
	}
	if len(t.open) > 0 {
		return fmt.Sprintf("has %d unanswered responses", len(t.open))
	}
	return ""
}
