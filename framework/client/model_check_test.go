package client_test

import (
	"time"
)

// check compares the client with the model. The resources in use must be correct at any time.
// Errors must be correct at rest.
func (w *modelWorld) check(rest bool) {
	w.hasty()
	for _, one := range w.gone {
		if v := one.view(); v.wrong != "" {
			w.failf("watcher %d, which is cancelled: %s", one.number, v.wrong)
		}
		one.end()
	}
	if rest {
		w.learn()
		for _, c := range w.collectors {
			w.checkCollector(c)
		}
	}
	for _, one := range w.watchers {
		w.checkWatcher(one, rest)
	}
	for _, k := range w.keys {
		w.checkCache(k)
	}
	for i, s := range w.servers {
		for _, v := range s.Violations() {
			w.failf("server %d: %s", i, v)
		}
		if known := w.model.servers[i]; rest && !known.deaf {
			for _, u := range s.UnansweredFor(longestHold) {
				w.failf("server %d: unanswered at rest: %s", i, u)
			}
		}
	}
}

// hasty removes watchers that cancelled in a callback from the model.
func (w *modelWorld) hasty() {
	for i := 0; i < len(w.watchers); i++ {
		if one := w.watchers[i]; one.hasty && one.view().ended {
			w.told("watcher %d: has cancelled", one.number)
			w.forget(one)
			i--
		}
	}
}

func (w *modelWorld) checkWatcher(one *modelWatcher, rest bool) {
	v, b := one.view(), w.model.beliefs[one.key]
	switch {
	case v.wrong != "":
		w.failf("watcher %d: %s", one.number, v.wrong)
	case v.blocked || b.vague || b.dying(time.Now()):
	case v.value != b.value:
		w.failf("watcher %d has %q, want %q", one.number, v.value, b.value)
	case rest && !w.fits(one.key, b, v):
		w.failf("watcher %d has %q and %v, want %q and %v (connected %t)", one.number, v.value, v.err, b.value, b.kind, w.model.server(one.key).connected)
	}
}

// fits reports whether an error is the expected one at rest.
func (w *modelWorld) fits(k modelKey, b *belief, v modelView) bool {
	got := kindOf(v.err)
	switch {
	case b.kind != noError:
		return got == b.kind
	case !w.model.server(k).connected:
		return got == isTransport
	case b.value != "":
		return got == noError || got == isTransport && w.unproven(k)
	}
	// The state is unknown. Errors of the control plane stay.
	return got == noError || got == isTransport
}

// unproven reports whether the server in use has had an earlier stream and has sent no response on
// the present one. The client may still count it as unreachable.
func (w *modelWorld) unproven(k modelKey) bool {
	s := w.servers[w.active(k)]
	opened, _ := s.Opened()
	return opened > 1 && !s.Heard()
}

func (w *modelWorld) checkCache(k modelKey) {
	b := w.model.beliefs[k]
	if b != nil && (b.vague || b.dying(time.Now())) || w.covered(k) {
		return
	}
	want := ""
	if b != nil {
		want = b.value
	}
	if got := w.cached(k); got != want {
		w.failf("cached under %s: %q, want %q", k.name, got, want)
	}
}

func (w *modelWorld) cached(k modelKey) string {
	u, ok := lookup(w.client, k.typ, k.name)
	if !ok {
		return ""
	}
	return u.tag
}
