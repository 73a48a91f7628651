package client_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// learn takes the client's state for beliefs that are open. Before, it checks that the state is
// possible: the control plane has answered by now.
func (w *modelWorld) learn() {
	w.model.murky = w.model.murky && w.model.busy()
	for _, one := range w.watchers {
		b, v := w.model.beliefs[one.key], one.view()
		if !b.vague || v.blocked {
			continue
		}
		if got := w.cached(one.key); got != v.value {
			w.failf("watcher %d has %q, but %q is cached", one.number, v.value, got)
		}
		i := w.active(one.key)
		s, kind := w.model.servers[i], kindOf(v.err)
		if w.model.dropsErrors && v.value != "" && (kind == isInvalid || kind == isRemoved || kind == isNotFound || kind == isDenied) {
			w.failf("watcher %d still has %q beside %v", one.number, v.value, v.err)
		}
		switch {
		case !s.connected:
			w.checkUnreachable(one, kind)
		case w.busy(one.key):
		default:
			w.checkLearned(fmt.Sprintf("watcher %d", one.number), one.key, v, s.holds[one.key])
			c := s.holds[one.key]
			b.vague, b.value, b.kind = w.model.open(one.key) || c.ttl > 0, v.value, kind
			// In the state of the world, an error remains when the resource is deleted.
			b.version, b.refused, b.expires = c.version, c.code != 0 || kind == isDenied || kind == isUnavailable, time.Time{}
			b.seen = v.value != "" || b.refused || kind == isInvalid || kind == isRemoved || kind == isNotFound && w.model.delta
		}
	}
}

// busy reports whether one of a key's servers neither reads nor responds. Then an exchange with it
// may be incomplete.
func (w *modelWorld) busy(k modelKey) bool {
	return slices.ContainsFunc(w.model.authorities[k.authority], func(i int) bool {
		return w.model.servers[i].deaf || w.model.servers[i].holding
	})
}

// active is the server that a key's authority must use: the first one, unless the client has
// subscribed at the next one. The client may do so only while the first one is unreachable, until
// the first one responds (gRFC A71).
func (w *modelWorld) active(k modelKey) int {
	servers := w.model.authorities[k.authority]
	for n, i := range servers[:len(servers)-1] {
		next := servers[n+1]
		if !slices.Contains(w.servers[next].Subscribed(), k.name) {
			return i
		}
		if w.servers[i].Heard() && !w.busy(k) { // a busy one has not read that it is not needed
			w.failf("server %d is in use, although server %d has answered", next, i)
		}
	}
	return servers[len(servers)-1]
}

// checkUnreachable checks a resource if neither its server nor a fallback server is reachable.
func (w *modelWorld) checkUnreachable(one *modelWatcher, kind modelKind) {
	if kind == noError && !w.model.loose(one.key) {
		w.failf("watcher %d has no error, but nobody is reached", one.number)
	}
	if v := one.view(); v.value == "" && (kind == noError || kind == isTransport) {
		for _, i := range w.model.authorities[one.key.authority] {
			if s := w.model.servers[i]; s.connected && !s.deaf {
				w.failf("watcher %d has nothing, and server %d is not asked", one.number, i)
			}
		}
	}
}

// tells reports whether the server in use reports the removal of a resource that the client holds.
func (w *modelWorld) tells(k modelKey) bool {
	if w.model.delta {
		return !w.retaken[k] || !w.caches()
	}
	if opened, _ := w.servers[w.active(k)].Opened(); opened > 1 && w.temper == memoryads.Linear {
		return false // to a client that sends a version on a new stream
	}
	return k.typ.Complete
}

// caches reports whether the control planes imitate go-control-plane.
func (w *modelWorld) caches() bool {
	return w.temper == memoryads.Snapshot || w.temper == memoryads.Linear || w.temper == memoryads.Mux
}

// settled clears the knowledge about names that were dropped and watched again.
func (w *modelWorld) settled() {
	if w.model.busy() {
		return
	}
	clear(w.dropped)
	for _, l := range w.lists { // the client has not received the newest version yet
		if !w.model.servers[l.server].connected {
			w.relist(l, func() {})
		}
	}
	has := func(k modelKey, _ bool) bool {
		c := w.model.servers[w.active(k)].holds[k]
		return c.value != "" && !c.bad
	}
	maps.DeleteFunc(w.retaken, has)
	maps.DeleteFunc(w.crossed, has)
}

// checkLearned compares the state of a resource at rest with the content that its server has.
func (w *modelWorld) checkLearned(who string, k modelKey, v modelView, c content) {
	kind := kindOf(v.err)
	expired := v.value == "" && kind == isRemoved
	if w.caches() && w.column.layout.collections { // which believe that the client still has the member
		expired = expired || v.value == "" && (kind == isNotFound || kind == isTimeout)
	}
	switch {
	case expired && w.model.mortal[k]: // which error it had before is forgotten
	case c.bad && w.temper == memoryads.Istiod && w.model.delta && w.retaken[k] && v.value == "":
		// istiod takes a member of a collection that has ended for a subscription.
		if kind != isInvalid && kind != isNotFound && kind != isTimeout {
			w.failf("%s has %v, want %v", who, v.err, isInvalid)
		}
	case c.kind() != noError:
		if kind != c.kind() && (c.kind() != isNotFound || kind != isRemoved) {
			w.failf("%s has %v, want %v", who, v.err, c.kind())
		}
	case c.value != "":
		if v.value != c.value || kind != noError && (kind != isTransport || !w.unproven(k)) {
			w.failf("%s has %q and %v, want %q", who, v.value, v.err, c.value)
		}
	case v.value == "" && kind == noError || v.value != "" && kind == noError && w.tells(k):
		w.failf("%s has %q and %v, but there is nothing", who, v.value, v.err)
	}
}
