package authority

import (
	"errors"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"

	"github.com/xdsforge/xdsforge/internal/feature"
)

func (r *rig) delta(results ...Result) {
	r.do(Response{Type: partial, Results: results, Partial: true})
}

func (r *rig) removed(s string) Result { return Result{Name: name(r.t, s), Removed: true} }

func TestRemovedResources(t *testing.T) {
	r := newRig(t)
	held, never := r.watch(partial, "held"), r.watch(partial, "never")
	r.do(evAsked{0, partial, []string{"held", "never"}})
	u := r.update("held", "1")
	r.delta(ok(u))
	r.delta() // absence means nothing
	held.wants(t, 1, u, nil)
	r.delta(r.removed("held"), r.removed("never"), r.removed("stranger"))
	held.wants(t, 2, u, resource.ErrRemoved)
	never.wants(t, 1, nil, resource.ErrNotFound)
	if errors.Is(never.state.Err, resource.ErrRemoved) {
		t.Error("what never was counts as removed")
	}
	if _, ok := r.m.NextDeadline(); ok {
		t.Error("a timer runs for what the control plane said it does not have")
	}
	r.delta(r.removed("held"), r.removed("never"))
	held.wants(t, 2, u, resource.ErrRemoved)
	never.wants(t, 1, nil, resource.ErrNotFound)
	r.delta(ok(u))
	held.wants(t, 3, u, nil)
}

// An error that says that a resource is gone, and a removal after it, are one fact.
func TestRemovalAfterAnErrorIsStillARemoval(t *testing.T) {
	for _, features := range [][]string{nil, {feature.FailOnDataErrors}} {
		r := newRig(t, features...)
		held := r.watch(partial, "held")
		r.delta(ok(r.update("held", "1")))
		r.delta(Result{Name: name(t, "held"), Error: &ServerError{Code: codeNotFound}}, r.removed("held"))
		if !errors.Is(held.state.Err, resource.ErrRemoved) {
			t.Errorf("features %v: error %v; want ErrRemoved", features, held.state.Err)
		}
	}
}

func TestErrorsOfTheControlPlane(t *testing.T) {
	said := func(s string, code int32) Result {
		return Result{Name: name(t, s), Error: &ServerError{Code: code, Message: "because"}}
	}
	for _, c := range []struct {
		code int32
		kind error
		data bool
	}{
		{5, resource.ErrNotFound, true},
		{7, resource.ErrDenied, true},
		{14, resource.ErrUnavailable, false},
		{13, resource.ErrUnavailable, false},
		{2, resource.ErrUnavailable, false},
		{9, resource.ErrUnavailable, false},
	} {
		for _, fail := range []bool{false, true} {
			var features []string
			if fail {
				features = []string{feature.FailOnDataErrors}
			}
			r := newRig(t, features...)
			held, waiting := r.watch(complete, "held"), r.watch(complete, "waiting")
			r.do(evAsked{0, complete, []string{"held", "waiting"}})
			u := r.update("held", "1")
			r.respond(complete, ok(u), said("waiting", c.code))
			waiting.wants(t, 1, nil, c.kind)
			if _, armed := r.m.NextDeadline(); armed {
				t.Errorf("code %d: the timer still runs", c.code)
			}
			r.respond(complete, said("held", c.code))
			kept := u
			if c.data && fail {
				kept = nil
			}
			held.wants(t, 2, kept, c.kind)
			if r.state(complete, "held") != ReceivedError {
				t.Errorf("code %d: state %v, want RECEIVED_ERROR", c.code, r.state(complete, "held"))
			}
			r.respond(complete) // it need not be said again
			held.wants(t, 2, kept, c.kind)
			r.respond(complete, ok(u))
			held.wants(t, 3, u, nil)
		}
	}
}

func TestLifetimes(t *testing.T) {
	r := newRig(t)
	a := r.watch(partial, "a")
	u := r.update("a", "1")
	with := func(res Result, version string, ttl time.Duration) Result {
		res.Version, res.TTL = version, ttl
		return res
	}
	beat := func(version string, ttl time.Duration) Result {
		return Result{Name: name(t, "a"), Version: version, TTL: ttl, Heartbeat: true}
	}
	deadline := func(want time.Duration) {
		t.Helper()
		at, ok := r.m.NextDeadline()
		if ok != (want > 0) || ok && at.Sub(r.now) != want {
			t.Errorf("NextDeadline = %v %v, want in %v", at.Sub(r.now), ok, want)
		}
	}
	r.delta(beat("1", time.Minute)) // of nothing
	a.wants(t, 0, nil, nil)
	r.delta(with(ok(u), "1", time.Minute))
	deadline(time.Minute)
	r.now = r.now.Add(50 * time.Second)
	r.delta(beat("0", time.Hour)) // of another version
	deadline(10 * time.Second)
	r.delta(beat("1", 2*time.Minute))
	deadline(2 * time.Minute)
	r.delta(beat("", time.Minute))
	deadline(time.Minute)
	a.wants(t, 1, u, nil)
	r.delta(with(ok(u), "1", 0))
	deadline(0)
	r.delta(with(ok(u), "1", time.Second))
	r.delta(r.bad("a", "bad")) // says nothing of the version in use
	deadline(time.Second)
	r.do(evLost{Err: errors.New("refused")}) // that is what it is for
	r.now = r.now.Add(time.Second)
	if e := effects(r.do(evTick{})); e != "0?a" {
		t.Errorf("effects = %q, want that it is forgotten", e)
	}
	if a.state.Update != nil || !errors.Is(a.state.Err, resource.ErrRemoved) || r.cached(partial, "a") != nil {
		t.Errorf("state = %v, cached %v; want it gone", a.state, r.cached(partial, "a"))
	}
	deadline(0)
	if e := effects(r.do(Response{Type: partial, Results: []Result{beat("1", time.Minute)}, Partial: true})); e != "0+a 0-a" {
		t.Errorf("effects of a late heartbeat = %q, want that it is asked for again", e)
	}

	for i, s := range []string{"x", "y", "z"} {
		r.watch(partial, s)
		r.delta(with(ok(r.update(s, "1")), "1", time.Duration(3-i)*time.Minute))
	}
	deadline(time.Minute)
	r.do(evCancel{Type: partial, Name: name(t, "z"), Watcher: r.m.table(partial).records["z"].watcher})
	deadline(2 * time.Minute)
	r.delta(with(ok(r.update("y", "2")), "2", time.Hour))
	deadline(3 * time.Minute)
}

func TestAliases(t *testing.T) {
	r := newRig(t)
	alias, canonical, other := r.watch(partial, "alias"), r.watch(partial, "real"), r.watch(partial, "other")
	named := func(u resource.Update) Result {
		res := ok(u)
		res.Aliases = []xdstp.Name{name(t, "alias"), name(t, "unwatched")}
		return res
	}
	u := r.update("real", "1")
	r.delta(named(u))
	alias.wants(t, 1, u, nil)
	canonical.wants(t, 1, u, nil)
	other.wants(t, 0, nil, nil)
	if r.cached(partial, "real") != u || r.cached(partial, "alias") != nil {
		t.Error("want it cached under its own name alone")
	}
	r.do(evCancel{Type: partial, Name: name(t, "real"), Watcher: canonical})
	if r.cached(partial, "real") != u {
		t.Error("not cached although its alias is watched")
	}
	v := r.update("real", "2")
	r.delta(ok(v)) // an alias need not be repeated
	alias.wants(t, 2, v, nil)
	r.delta(r.removed("real"))
	alias.wants(t, 3, v, resource.ErrRemoved)
	r.delta(named(v))
	alias.wants(t, 4, v, nil)
	r.do(evCancel{Type: partial, Name: name(t, "alias"), Watcher: alias})
	if r.cached(partial, "real") != nil || len(r.m.table(partial).aliased) != 0 {
		t.Error("still cached when nobody watches")
	}
}

func TestStale(t *testing.T) {
	r := newRig(t)
	a := r.watch(partial, "a")
	u := r.update("a", "1")
	r.delta(ok(u))
	alias, canonical := r.watch(partial, "alias"), r.watch(partial, "real")
	v := r.update("real", "1")
	aliased := ok(v)
	aliased.Aliases = []xdstp.Name{name(t, "alias")}
	r.delta(aliased)
	r.do(evStale{Server: 0, Type: partial, Names: []string{"a", "real", "stranger"}})
	a.wants(t, 2, u, resource.ErrRemoved)
	canonical.wants(t, 2, v, resource.ErrRemoved)
	alias.wants(t, 2, v, resource.ErrRemoved) // whatever it is watched by
}

func TestFailOnDataErrorsByDefault(t *testing.T) {
	r := newRig(t)
	r.m.config.FailOnDataErrors = true
	a := r.watch(partial, "a")
	r.delta(ok(r.update("a", "1")))
	if e := effects(r.do(Response{Type: partial, Results: []Result{r.bad("a", "bad")}, Partial: true})); e != "0?a" {
		t.Errorf("effects = %q, want that it is forgotten", e)
	}
	a.wants(t, 2, nil, resource.ErrInvalid)
}
