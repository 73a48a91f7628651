package authority

import (
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// due checks whether, and when, a does-not-exist timer ends.
func (r *rig) due(want time.Duration) {
	r.t.Helper()
	if at, ok := r.timeout(); ok != (want > 0) || ok && at.Sub(r.now) != want {
		r.t.Errorf("due in %v, %v; want in %v", at.Sub(r.now), ok, want)
	}
}

func (r *rig) cancel(typ *resource.Descriptor, s string, w Watcher) {
	r.t.Helper()
	r.do(evCancel{Type: typ, Name: name(r.t, s), Watcher: w})
}

// The timer runs from the first request on, for the server that is listened to, and
// only once that has been asked on its stream (gRFC A57).
func TestTimersOverASwitch(t *testing.T) {
	r := newFallbackRig(t)
	r.watch(partial, "a")
	r.watch(partial, "b")
	r.do(evAsked{0, partial, []string{"a", "b"}})
	r.now = r.now.Add(5 * time.Second)
	r.do(evAsked{0, partial, []string{"a", "b"}}) // once more, as after a drop that was taken back
	r.due(10 * time.Second)
	r.do(evLost{Server: 0, Err: errRefused})
	r.do(evAsked{1, partial, []string{"a", "b"}})
	r.due(15 * time.Second)
	r.do(r.from(0, ok(r.update("other", "1")))) // a new stream, on which a was not asked for
	r.due(0)
	r.do(evLost{Server: 0, Err: errRefused})
	r.due(0) // nor was it on that of the second server, which was let go
	r.do(evAsked{1, partial, []string{"a"}})
	r.due(15 * time.Second)
}

// A slow server's resource is one that is not cached.
func TestTimeoutIsAReasonToFallBack(t *testing.T) {
	r := newRigOf(t, newServer(t, "first.test:1", feature.ResourceTimerIsTransientError), newServer(t, "second.test:1"))
	a := r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	r.now = r.now.Add(ResourceTimeoutTransient)
	r.do(evTick{})
	a.wants(t, 1, nil, resource.ErrTimeout)
	r.expect("0! 1+a", evLost{Server: 0, Err: errRefused})
}

// A response shows that a server can be reached, and idleness that nothing is known.
func TestWhetherAServerIsDownIsForgotten(t *testing.T) {
	r := newFallbackRig(t)
	a := r.watch(partial, "a")
	u := r.update("a", "1")
	r.do(r.from(0, ok(u)))
	r.do(evLost{Server: 0, Err: errRefused})
	r.do(r.from(0, ok(u)))
	r.cancel(partial, "a", a)
	b := new(watcher)
	r.expect("0+b", evWatch{Type: partial, Name: name(t, "b"), Watcher: b})
	r.do(evLost{Server: 0, Err: errRefused})
	r.cancel(partial, "b", b)
	r.do(evIdle{Server: 0})
	r.expect("0+b", evWatch{Type: partial, Name: name(t, "b"), Watcher: b})
	b.wants(t, 0, nil, nil)
}

func TestStaleOfAServerThatIsNotInUse(t *testing.T) {
	r := newFallbackRig(t)
	a := r.watch(partial, "a")
	r.do(evLost{Server: 0, Err: errRefused})
	u := r.update("a", "1")
	r.do(r.from(1, ok(u)))
	r.do(evStale{Server: 0, Type: partial, Names: []string{"a"}})
	a.wants(t, 1, u, nil)
}

// What another server sends that says the same is told if it ends an error.
func TestSameFromAnotherServerEndsAnError(t *testing.T) {
	r := newFallbackRig(t)
	a := r.watch(partial, "a")
	u := r.update("a", "1")
	r.do(r.from(0, ok(u), r.bad("a", "bad")))
	a.wants(t, 2, u, resource.ErrInvalid)
	r.watch(partial, "b")
	r.do(evLost{Server: 0, Err: errRefused})
	v := r.update("a", "1")
	r.do(r.from(1, ok(v)))
	a.wants(t, 3, v, nil)
}

// What only the fallback had is given its time, although its collection is asked for
// after the switch, and although somebody watched it by name meanwhile.
func TestStraysLeaveInTime(t *testing.T) {
	r := newFallbackRig(t)
	g := r.gather(partial, "*")
	r.do(evLost{Server: 0, Err: errRefused})
	u := r.update("a", "1")
	r.do(Response{Server: 1, Type: partial, Results: []Result{ok(u)}, Partial: true})
	w := r.watch(partial, "a")
	r.do(Response{Server: 0, Type: complete, Partial: true})
	r.due(0)
	r.do(evAsked{0, partial, []string{"*"}})
	r.due(15 * time.Second)
	r.cancel(partial, "a", w)
	g.wantsMember(t, "a", u, nil)
	r.now = r.now.Add(ResourceTimeout)
	r.do(evTick{})
	g.wantsMember(t, "a", nil, resource.ErrRemoved)
	if r.size(partial) != 0 {
		t.Error("a stray is still cached")
	}
}

func TestCancelledByNameIsStillAMember(t *testing.T) {
	r := newRig(t)
	g, a := r.gather(partial, "*"), r.watch(partial, "a")
	u := r.update("a", "1")
	r.delta(ok(u))
	r.cancel(partial, "a", a)
	if r.cached(partial, "a") != u {
		t.Error("a member is not cached any longer")
	}
	r.delta(r.removed("a"))
	g.wantsMember(t, "a", nil, resource.ErrRemoved)
}

func TestCancelOfAnAliasLeavesTheResource(t *testing.T) {
	r := newRig(t)
	alias := r.watch(partial, "alias")
	r.watch(partial, "real")
	res := ok(r.update("real", "1"))
	res.Aliases = []xdstp.Name{name(t, "alias")}
	r.delta(res)
	r.cancel(partial, "alias", alias)
	if r.cached(partial, "real") != res.Update {
		t.Error("not cached although it is watched by its own name")
	}
}

// Trouble with a collection that was answered begins and ends with the control plane's.
func TestCollectionHearsOfTrouble(t *testing.T) {
	r := newRig(t)
	g := r.gather(partial, "*")
	r.delta()
	if r.state(partial, "*") != Requested {
		t.Error("what came before it was asked for has answered the wildcard")
	}
	r.do(evAsked{0, partial, []string{"*"}})
	r.delta()
	r.do(evLost{Err: errRefused})
	g.wants(t, 2, nil, resource.ErrTransport)
	r.do(evHealthy{})
	g.wants(t, 3, nil, nil)
}

// The timer has said it already.
func TestWhatDoesNotExistIsNotToldAgain(t *testing.T) {
	r := newRig(t)
	a := r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	r.now = r.now.Add(ResourceTimeout)
	r.do(evTick{})
	r.delta(r.removed("a"))
	a.wants(t, 1, nil, resource.ErrNotFound)
}

// TestOldEffectsKeepNothing expects a cleared Ready to refer to no update.
func TestOldEffectsKeepNothing(t *testing.T) {
	r := newRig(t)
	r.watch(partial, "a")
	r.m.Received(&Response{Type: partial, Results: []Result{ok(r.update("a", "1"))}}, r.now)
	ready := r.m.Ready()
	ready.Clear()
	if n := ready.Notices; len(n) != 1 || n[0] != (Notice{}) {
		t.Errorf("notices = %v, want one that is empty", n)
	}
}
