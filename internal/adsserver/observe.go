package adsserver

import (
	"fmt"
	"slices"
	"strings"
)

// settled is implemented by sessions that can tell whether everything was reported, given the number
// of changes that the core has applied.
type settled interface{ Settled(applied uint64) bool }

// OpenStreams returns the number of streams that have not ended.
func (c *Core) OpenStreams() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams)
}

// SubscribedTo returns the names and collections of a type that streams subscribe to, sorted.
func (c *Core) SubscribedTo(url string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.types[url]
	if k == nil {
		return nil
	}
	for _, e := range k.entries {
		if e.explicit > 0 {
			names = append(names, e.name)
		}
	}
	for _, l := range k.collections {
		if len(l.streams) > 0 {
			names = append(names, l.name)
		}
	}
	slices.Sort(names)
	return names
}

// Accepted reports whether at least one stream subscribes to a type and every such stream has accepted
// the newest resources. If not, why says which stream lacks something.
func (c *Core) Accepted(url string) (ok bool, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.feeds {
		if s, ok := f.session.(settled); ok && !s.Settled(f.applied) {
			return false, "the source has not reported the newest resources yet"
		}
	}
	var lacks []string
	found := false
	for st := range c.streams {
		for _, s := range st.kinds {
			if s.kind.url != url || len(s.subscriptions()) == 0 {
				continue
			}
			found = true
			if lack := s.lacks(); lack != "" {
				lacks = append(lacks, fmt.Sprintf("stream %d, which subscribes to %q, %s", st.number, s.subscriptions(), lack))
			}
		}
	}
	if !found {
		return false, fmt.Sprintf("none of %d open streams subscribes to the type", len(c.streams))
	}
	slices.Sort(lacks)
	return len(lacks) == 0, strings.Join(lacks, "; ")
}

// current reports whether the client has accepted the newest resources.
func (s *substream) current() bool {
	return s.acked == s.nonce && s.waiting == 0 && !s.puts && !s.gone && !s.later && !s.owes()
}

// upToDate reports whether lacks has nothing to say.
func (s *substream) upToDate() bool { return s.current() && (s.nacked != s.nonce || s.nonce == 0) }

// lacks says why the client has not accepted the newest resources; "" if it has.
func (s *substream) lacks() string {
	switch {
	case s.nacked == s.nonce && s.nonce > 0:
		return "rejected the last response: " + s.reason
	case s.waiting > 0, s.puts, s.gone, s.later, s.owes():
		return "has not received the newest resources"
	case s.acked != s.nonce:
		return fmt.Sprintf("has not answered response %d", s.nonce)
	}
	return ""
}

// subscriptions returns the names and collections that the client subscribes to, sorted.
func (s *substream) subscriptions() (names []string) {
	for p := range s.subs.all() {
		if p.flags.has(byName) {
			names = append(names, p.entry.name)
		}
	}
	for _, l := range s.lists {
		names = append(names, l.list.name)
	}
	slices.Sort(names)
	return names
}
