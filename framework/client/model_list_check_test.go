package client_test

import (
	"fmt"
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// checkList compares a collector's members with the list that the client must be using at rest.
// c.mu is held.
func (w *modelWorld) checkList(c *modelCollector) {
	l := c.list
	switch kind := kindOf(c.err); {
	case l.now.kind == noError:
		l.maybe = []modelEntries{l.now}
		c.exact = true
	case w.unproven(l.key) && kind == isTransport:
	case l.now.kind != isNotFound:
		if kind != l.now.kind {
			w.failf("collector %d has %v, want %v", c.number, c.err, l.now.kind)
		}
	case len(l.maybe) > 0:
	case c.err != nil && (!w.model.delta || w.temper != memoryads.Letter): // an earlier error may remain
	case kind != isNotFound && kind != isTimeout && kind != isRemoved:
		w.failf("collector %d has %v of a list that does not exist", c.number, c.err)
	}
	if c.exact && len(l.maybe) == 1 {
		w.checkEntries(c, l.maybe[0])
		return
	}
	for name, m := range c.members {
		if m.Update != nil && !slices.ContainsFunc(l.maybe, func(e modelEntries) bool { return e.allows(name, m) }) {
			w.failf("collector %d has member %s = %q, but no valid version of the list has it", c.number, name, tag(m.Update))
		}
	}
}

// allows reports whether a member may have a state.
func (e modelEntries) allows(name string, s resource.State) bool {
	for k, value := range e.members {
		if k.name == name {
			return value == "" || value == tag(s.Update)
		}
	}
	return false
}

// checkEntries compares a collector's members with a version of the list.
func (w *modelWorld) checkEntries(c *modelCollector, e modelEntries) {
	names := make(map[string]bool)
	whole := true
	for k, value := range e.members {
		names[k.name] = true
		m := c.members[k.name]
		switch {
		case value == "":
			whole = w.checkLocated(c, k, m) && whole
		case m.Update == nil || m.Err != nil || tag(m.Update) != value:
			w.failf("collector %d has %v and %v of inline entry %s, want %q", c.number, m.Update, m.Err, k.name, value)
		}
	}
	for name, m := range c.members {
		// A member that the collector knows not to exist leaves the list without a report.
		if kind := kindOf(m.Err); !names[name] && (m.Update != nil || kind != isRemoved && kind != isNotFound) {
			w.failf("collector %d has %v and %v of %s, which the list no longer has", c.number, m.Update, m.Err, name)
		}
	}
	if whole && !c.synced {
		w.failf("collector %d is not synced, but all members are known", c.number)
	}
}

// checkLocated compares a located member with the content of its server. It returns false if the
// server cannot have sent it.
func (w *modelWorld) checkLocated(c *modelCollector, k modelKey, m resource.State) bool {
	s := w.model.server(k)
	if !s.connected || w.busy(k) {
		return false
	}
	v, held := modelView{err: m.Err}, s.holds[k]
	if m.Update != nil {
		v.value = tag(m.Update)
	}
	if got := w.cached(k); got != v.value {
		w.failf("collector %d has %q of %s, but %q is cached", c.number, v.value, k.name, got)
	}
	missing := held.value == "" && (held.code == 0 || held.kind() == isNotFound) || w.model.mortal[k]
	if v.value == "" && v.err == nil && missing {
		return true // a collector gets no event for a member that never existed
	}
	w.checkLearned(fmt.Sprintf("collector %d, located member %s,", c.number, k.name), k, v, held)
	return true
}
