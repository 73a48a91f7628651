package authority

import (
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// timeOut asks a server for resources and lets their time pass.
func (r *rig) timeOut(server int, names ...string) {
	r.t.Helper()
	r.do(evAsked{server, partial, names})
	r.now = r.now.Add(ResourceTimeout)
	r.do(evTick{})
}

// next checks whether, and how soon, the machine has something to do.
func (r *rig) next(want time.Duration) {
	r.t.Helper()
	if at, ok := r.m.NextDeadline(); ok != (want > 0) || ok && at.Sub(r.now) != want {
		r.t.Errorf("next deadline in %v, %v; want in %v", at.Sub(r.now), ok, want)
	}
}

// If a server sends nothing between the request and its failure, the resource may exist: the
// machine asks the next server, and the one after it.
func TestTimeoutOfASilentServerIsNoReasonToStay(t *testing.T) {
	r := newFallbackRig(t)
	a := r.watch(partial, "a")
	r.timeOut(0, "a")
	a.wants(t, 1, nil, resource.ErrNotFound)
	r.expect("0! 1+a", evLost{Server: 0, Err: errRefused})
	r.expect("1! 2+a", evLost{Server: 1, Err: errRefused})
	u := r.update("a", "1")
	r.do(r.from(2, ok(u)))
	a.wants(t, 2, u, nil)
}

// A server that was heard earlier may have died before it was asked.
func TestTimeoutAfterAServerFellSilent(t *testing.T) {
	r := newFallbackRig(t)
	r.watch(partial, "a")
	r.watch(partial, "b")
	r.do(evAsked{0, partial, []string{"a"}})
	r.do(r.from(0, ok(r.update("a", "1"))))
	r.now = r.now.Add(1)
	r.timeOut(0, "b")
	r.expect("0! 1+a 1+b", evLost{Server: 0, Err: errRefused})
}

// If a server responds while the timer runs, or later, the resource does not exist, which
// counts as cached (gRFC A71).
func TestTimeoutOfAServerThatResponds(t *testing.T) {
	for _, meanwhile := range []bool{true, false} {
		r := newFallbackRig(t)
		r.watch(partial, "a")
		r.do(evAsked{0, partial, []string{"a"}})
		if meanwhile {
			r.do(r.from(0, ok(r.update("other", "1"))))
		}
		r.now = r.now.Add(ResourceTimeout)
		r.do(evTick{})
		if !meanwhile {
			r.do(r.from(0, ok(r.update("other", "1"))))
		}
		r.expect("", evLost{Server: 0, Err: errRefused})
	}
}

// A removal confirms the timeout.
func TestRemovalAfterATimeout(t *testing.T) {
	r := newFallbackRig(t)
	r.watch(partial, "a")
	r.timeOut(0, "a")
	r.do(r.from(0, r.removed("a")))
	r.expect("", evLost{Server: 0, Err: errRefused})
}

// A new watcher of a resource that a silent server did not send falls back at once if the
// server is lost.
func TestNewWatcherAfterATimeout(t *testing.T) {
	r := newFallbackRig(t)
	a := r.watch(partial, "a")
	r.timeOut(0, "a")
	r.cancel(partial, "a", a)
	r.do(evLost{Server: 0, Err: errRefused})
	r.expect("0! 0+a 1+a", evWatch{Type: partial, Name: name(t, "a"), Watcher: new(watcher)})
}

// The timers pause from the arrival of a response until the client reads again, and continue
// with the time that they had left.
func TestTimersStandStillWhileAResponseIsRead(t *testing.T) {
	r := newFallbackRig(t)
	a := r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	r.now = r.now.Add(10 * time.Second)
	since := r.now
	r.now = r.now.Add(4 * time.Second)
	r.do(evPause{Server: 0, Since: since})
	r.next(0)
	r.now = r.now.Add(time.Hour)
	r.do(evTick{})
	a.wants(t, 0, nil, nil)
	r.do(r.from(0, ok(r.update("other", "1"))))
	r.do(evAsked{0, partial, []string{"a"}}) // it runs already
	b := r.watch(partial, "b")
	r.do(evAsked{0, partial, []string{"b"}})
	r.do(evResume{Server: 0})
	r.due(5 * time.Second)
	r.now = r.now.Add(5 * time.Second)
	r.do(evTick{})
	a.wants(t, 1, nil, resource.ErrNotFound)
	r.now = r.now.Add(10 * time.Second)
	r.do(evTick{})
	b.wants(t, 1, nil, resource.ErrNotFound)
}

// Half of the time, after which a resource is asked for again, stands still as well.
func TestHalvesStandStillWhileAResponseIsRead(t *testing.T) {
	r := newRig(t)
	r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	overdue := func() (n int) {
		for _, e := range r.do(evTick{}) {
			if _, is := e.(efRepeat); is {
				n++
			}
		}
		return n
	}
	r.do(evPause{Server: 0, Since: r.now})
	r.now = r.now.Add(time.Hour)
	if n := overdue(); n != 0 {
		t.Errorf("asked for %d times again although the client does not read", n)
	}
	r.do(evResume{Server: 0})
	r.next(ResourceTimeout / 2)
	r.now = r.now.Add(ResourceTimeout / 2)
	if n := overdue(); n != 1 {
		t.Errorf("asked for %d times again after half of the time, want once", n)
	}
}

// Other servers do not matter, and neither does a stream that is gone.
func TestTimersOfAnotherServerThanTheOneThatIsRead(t *testing.T) {
	r := newFallbackRig(t)
	r.watch(partial, "a")
	r.do(evLost{Server: 0, Err: errRefused})
	r.do(evAsked{1, partial, []string{"a"}})
	r.do(evPause{Server: 0, Since: r.now})
	r.due(ResourceTimeout)
	r.do(evPause{Server: 1, Since: r.now})
	r.do(evResume{Server: 0})
	r.due(0)
	r.do(evLost{Server: 1})
	r.do(evAsked{1, partial, []string{"a"}})
	r.due(ResourceTimeout)
	r.do(evPause{Server: 1, Since: r.now})
	r.do(r.from(0, ok(r.update("other", "1"))))
	r.do(evAsked{0, partial, []string{"a"}})
	r.due(ResourceTimeout)
}

// A time to live does not pause, because the control plane sets it.
func TestLifetimesGoOnWhileAResponseIsRead(t *testing.T) {
	r := newRig(t, feature.FailOnDataErrors)
	a := r.watch(partial, "a")
	res := ok(r.update("a", "1"))
	res.TTL = time.Minute
	r.respond(partial, res)
	r.do(evPause{Server: 0, Since: r.now})
	r.next(time.Minute)
	r.now = r.now.Add(time.Minute)
	r.do(evTick{})
	a.wants(t, 2, nil, resource.ErrRemoved)
}

// Time counts once even if several Pauses name the same moment.
func TestTimersStandStillOnce(t *testing.T) {
	r := newRig(t)
	r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	since := r.now
	r.now = r.now.Add(10 * time.Second)
	for range 3 {
		r.do(evPause{Server: 0, Since: since})
		r.do(evResume{Server: 0})
	}
	r.due(ResourceTimeout)
}

// Work on a response from before a switch of servers gives no time to timers that were
// started with the switch.
func TestTimersOfASwitchStandStillFromThenOn(t *testing.T) {
	r := newFallbackRig(t)
	r.watch(partial, "a")
	r.do(evLost{Server: 0, Err: errRefused})
	r.do(evAsked{0, partial, []string{"a"}})
	since := r.now
	r.now = r.now.Add(10 * time.Second) // that the response takes
	r.do(r.from(0, ok(r.update("other", "1"))))
	r.due(ResourceTimeout)
	r.do(evPause{Server: 0, Since: since})
	r.now = r.now.Add(time.Second)
	r.do(evResume{Server: 0})
	r.due(ResourceTimeout)
}
