package ads

import (
	"maps"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func (s *deltaNames) forget(name string) {
	s.drop(name)
	delete(s.told, name)
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
		s.held = make(map[string]Accepted)
	}
}

// hold records resources that were taken into use. It ignores a heartbeat of a resource that is not
// in use, because it has expired.
func (s *deltaNames) hold(a Accepted) {
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
	clear(s.told)
}

// settle drops a resource that is no longer subscribed to, and reports whether it did.
func (s *deltaNames) settle(name string) bool {
	h, ok := s.held[name]
	if !ok || s.covered(h) {
		return false
	}
	s.forget(name)
	return true
}

// covered reports whether a resource is subscribed to, under any name.
func (s *deltaNames) covered(h Accepted) bool {
	return s.has(h.Name) || slices.ContainsFunc(h.Aliases, s.has) || s.collected(h.Name)
}

// collected reports whether a collection that may contain the name is subscribed to. New-style
// names are members only of globs, as in package authority.
func (s *deltaNames) collected(name string) bool {
	n, err := xdstp.Parse(name)
	if err != nil || !n.IsXdstp() {
		return s.has(resource.Wildcard)
	}
	glob, ok := n.Glob()
	return ok && s.has(glob.String())
}

// tell selects the versions for a stream's first request. The server resends the resources for
// which there is no room.
func (s *deltaNames) tell(room int) {
	if len(s.held) == 0 {
		return
	}
	s.told = make(map[string]string, len(s.held))
	for name, h := range s.held {
		if room -= len(name) + len(h.Version); room < 0 {
			return
		}
		s.told[name] = h.Version
	}
}

func (s *deltaNames) stale(now time.Time) []string {
	if s.replayed.IsZero() || now.Before(s.replayed) {
		return nil
	}
	names := slices.Sorted(maps.Keys(s.told))
	for _, name := range names {
		s.drop(name)
	}
	s.told, s.replayed = nil, time.Time{}
	return names
}
