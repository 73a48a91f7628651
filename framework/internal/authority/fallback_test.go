package authority

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"

	"github.com/xdsforge/xdsforge/internal/feature"
)

func newFallbackRig(t *testing.T) *rig {
	return newRigOf(t, newServer(t, "first.test:1"), newServer(t, "second.test:1"), newServer(t, "third.test:1"))
}

var errRefused = errors.New("refused")

// effects prints effects, sorted, since the order among names is free.
func effects(list []effect) string {
	var out []string
	for _, e := range list {
		switch e := e.(type) {
		case efSubscribe:
			out = append(out, fmt.Sprintf("%d+%s", e.Server, e.Name))
		case efUnsubscribe:
			out = append(out, fmt.Sprintf("%d-%s", e.Server, e.Name))
		case efRenew:
			out = append(out, fmt.Sprintf("%d!", e.Server))
		case efRelease:
			out = append(out, fmt.Sprintf("%d.", e.Server))
		case efForget:
			out = append(out, fmt.Sprintf("%d?%s", e.Server, e.Name))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (r *rig) expect(want string, ev event) {
	r.t.Helper()
	if got := effects(r.do(ev)); got != want {
		r.t.Errorf("%T: effects = %q, want %q", ev, got, want)
	}
}

func (r *rig) from(server int, results ...Result) Response {
	return Response{Server: server, Type: partial, Results: results}
}

func TestFallsBackForWhatIsNotCached(t *testing.T) {
	r := newFallbackRig(t)
	a := new(watcher)
	r.expect("0+a", evWatch{Type: partial, Name: name(t, "a"), Watcher: a})
	u := r.update("a", "1")
	r.do(r.from(0, ok(u)))
	r.expect("", evLost{Err: errRefused, Server: 0}) // all is cached
	a.wants(t, 2, u, resource.ErrTransport)
	b := new(watcher)
	r.expect("0! 0+b 1+a 1+b", evWatch{Type: partial, Name: name(t, "b"), Watcher: b})
	b.wants(t, 0, nil, nil) // somebody may still have it
	if i, _ := r.m.Active(); i != 1 {
		t.Errorf("active = %d, want 1", i)
	}
	r.expect("1! 2+a 2+b", evLost{Err: errRefused, Server: 1})
	b.wants(t, 0, nil, nil)
	r.expect("", evLost{Err: errRefused, Server: 2})
	b.wants(t, 1, nil, resource.ErrTransport)
	if !strings.Contains(b.state.Err.Error(), "third.test:1") {
		t.Errorf("error = %v, want the last server", b.state.Err)
	}
	r.expect("", evLost{Err: errRefused, Server: 0}) // it was not asked
	b.wants(t, 1, nil, resource.ErrTransport)

	v := r.update("b", "1")
	r.expect("0?a", r.from(2, ok(v), ok(r.update("a", "2"))))
	b.wants(t, 2, v, nil)
	if got := a.state; got.Err != nil || string(got.Update.Raw()) != "2" {
		t.Errorf("a = %v, want what the third server has", got)
	}
	r.expect("1-a 1-b 1. 2-a 2-b 2.", r.from(0)) // the first response of the primary
	r.expect("", r.from(2, ok(r.update("b", "late"))))
	b.wants(t, 2, v, nil)
	w := r.update("b", "3")
	r.expect("2?b", r.from(0, ok(w)))
	b.wants(t, 3, w, nil)
	r.expect("0-a", evCancel{Type: partial, Name: name(t, "a"), Watcher: a})
	r.expect("0-b", evCancel{Type: partial, Name: name(t, "b"), Watcher: b})
	if _, ok := r.m.Active(); ok {
		t.Error("a server is active although nothing is watched")
	}
}

func TestServersThatAreDownArePassedOver(t *testing.T) {
	r := newFallbackRig(t)
	r.do(evLost{Server: 0, Err: errRefused}) // another authority uses it
	r.do(evLost{Server: 1, Err: errRefused})
	a := new(watcher)
	r.expect("0! 0+a 1! 1+a 2+a", evWatch{Type: partial, Name: name(t, "a"), Watcher: a})
	a.wants(t, 0, nil, nil)
	r.do(evCancel{Type: partial, Name: name(t, "a"), Watcher: a})
	r.do(evLost{Server: 2, Err: errRefused})
	r.do(evWatch{Type: partial, Name: name(t, "a"), Watcher: a})
	a.wants(t, 1, nil, resource.ErrTransport)
	r.do(evHealthy{Server: 1}) // not the one that is listened to
	a.wants(t, 1, nil, resource.ErrTransport)
	r.do(r.from(1, ok(r.update("a", "1"))))
	if a.state.Err != nil {
		t.Errorf("state = %v", a.state)
	}
}

// A stream that ends after a response is no reason to fall back, and neither is a
// resource that does not exist by the word, or the silence, of a server that responds.
func TestFallsBackOnlyOnConnectivity(t *testing.T) {
	r := newFallbackRig(t)
	a := r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	r.expect("", evLost{Server: 0})
	r.do(evAsked{0, partial, []string{"a"}})
	r.do(r.from(0, ok(r.update("other", "1"))))
	r.now = r.now.Add(ResourceTimeout)
	r.expect("", evTick{})
	a.wants(t, 1, nil, resource.ErrNotFound)
	bad := r.watch(partial, "bad")
	r.expect("", r.from(0, r.bad("bad", "bad"))) // a data error says that the server is there
	bad.wants(t, 1, nil, resource.ErrInvalid)
	r.expect("", evLost{Server: 0, Err: errRefused})
	b := r.watch(partial, "b")
	b.wants(t, 0, nil, nil)
	r.expect("1-a 1-b 1-bad 1.", r.from(0, r.bad("b", "bad"))) // a data error says that the server is there
	b.wants(t, 1, nil, resource.ErrInvalid)
}

// What another server had, the one in use now must send in its time.
func TestWhatOnlyTheFallbackHadDoesNotStay(t *testing.T) {
	r := newFallbackRig(t)
	a, b := r.watch(partial, "a"), r.watch(partial, "b")
	r.do(evLost{Server: 0, Err: errRefused})
	u, v := r.update("a", "1"), r.update("b", "1")
	r.do(r.from(1, ok(u), ok(v)))
	r.do(evAsked{0, partial, []string{"a", "b"}})
	if _, ok := r.m.NextDeadline(); ok {
		t.Error("the primary is waited for, although it has not said a word")
	}
	w := r.update("a", "2")
	r.do(r.from(0, ok(w)))
	at, _ := r.timeout()
	if at.Sub(r.now) != ResourceTimeout {
		t.Fatalf("NextDeadline = %v, want in 15 s", at)
	}
	r.now = at
	r.expect("", evTick{})
	a.wants(t, 2, w, nil)
	b.wants(t, 2, v, resource.ErrRemoved)
	if r.state(partial, "b") != DoesNotExist {
		t.Error("want DOES_NOT_EXIST")
	}
}

// The same from another server is no news, except that it is from there.
func TestSameFromAnotherServer(t *testing.T) {
	r := newFallbackRig(t)
	first, second := r.m.config.Servers[0], r.m.config.Servers[1]
	a := r.watch(partial, "a")
	b := r.watch(partial, "b")
	from := func(s *bootstrap.Server, n, body string) Result {
		u, _ := decode(&resource.DecodeContext{Name: name(t, n), Server: s}, []byte(body))
		return ok(u)
	}
	r.do(r.from(0, from(first, "a", "same"), from(first, "b", "self")))
	r.do(evLost{Server: 0, Err: errRefused})
	r.watch(partial, "uncached")
	r.expect("0?a 0?b", r.from(1, from(second, "a", "same"), from(second, "b", "self")))
	if a.calls != 4 || a.state.Err != nil || a.state.Origin != resource.OriginFallback { // the value, the trouble, its end, the other origin
		t.Errorf("told %d times, %v", a.calls, a.state)
	}
	if b.state.Update.Server() != second || r.cached(partial, "b").Server() != second {
		t.Error("the cluster whose load reports go to its own server is not sent again")
	}
	if !r.cached(partial, "a").Server().Equal(second) {
		t.Error("the cache does not say where it is from now")
	}
}

func TestTimersOfTheServerInUse(t *testing.T) {
	r := newRigOf(t, newServer(t, "first.test:1"), newServer(t, "second.test:1", feature.ResourceTimerIsTransientError))
	a := r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	r.do(evLost{Server: 0, Err: errRefused})
	if _, ok := r.m.NextDeadline(); ok {
		t.Error("a timer runs without a stream")
	}
	r.do(evAsked{0, partial, []string{"a"}}) // the primary is tried again meanwhile
	if _, ok := r.m.NextDeadline(); ok {
		t.Error("a timer runs for a server that is not in use")
	}
	r.do(evAsked{1, partial, []string{"a"}})
	at, _ := r.timeout()
	if at.Sub(r.now) != 30*time.Second {
		t.Fatalf("NextDeadline = %v, want in 30 s", at)
	}
	r.do(evLost{Server: 0, Err: errRefused}) // the primary is tried in vain
	if _, ok := r.m.NextDeadline(); !ok {
		t.Error("the timer stopped with another server's stream")
	}
	r.now = at
	r.do(evTick{})
	a.wants(t, 1, nil, resource.ErrTimeout)
	r.do(evLost{Server: 1})
	r.now = r.now.Add(time.Hour)
	r.do(evAsked{1, partial, []string{"a"}})
	r.now = r.now.Add(ResourceTimeoutTransient)
	r.do(evTick{})
	a.wants(t, 1, nil, resource.ErrTimeout) // nothing new
}
