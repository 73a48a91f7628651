package authority

import (
	"fmt"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// repeats runs an event and returns the names that the servers are asked for again, and
// the names that they have answered.
func (r *rig) repeats(ev event) (s string) {
	r.t.Helper()
	for _, e := range r.do(ev) {
		switch e := e.(type) {
		case efRepeat:
			s += fmt.Sprintf("overdue %d %s ", e.Server, e.Name)
		case efAnswered:
			s += fmt.Sprintf("answered %d %s ", e.Server, e.Name)
		}
	}
	return s
}

func (r *rig) wantsRepeats(want string, ev event) {
	r.t.Helper()
	if got := r.repeats(ev); got != want {
		r.t.Errorf("%T: %q, want %q", ev, got, want)
	}
}

// A server may have lost a name: the machine asks it again before it reports to watchers
// that the resource does not exist.
func TestUnansweredNamesAreOverdueAtHalfOfTheTimer(t *testing.T) {
	r := newRig(t)
	a, b := r.watch(partial, "a"), r.watch(partial, "b")
	r.watch(partial, "c")
	start := r.now
	r.do(evAsked{0, partial, []string{"a", "b", "c"}})
	r.respond(partial, ok(r.update("c", "1")))
	at, _ := r.m.NextDeadline()
	if at.Sub(start) != ResourceTimeout/2 {
		t.Fatalf("NextDeadline = %v, want in 7.5 s", at)
	}
	r.now = at
	r.wantsRepeats("overdue 0 a overdue 0 b ", evTick{})
	r.wantsRepeats("", evTick{})
	a.wants(t, 0, nil, nil)
	u := r.update("a", "1")
	r.wantsRepeats("answered 0 a ", r.from(0, ok(u)))
	a.wants(t, 1, u, nil)
	r.now, _ = r.m.NextDeadline()
	if r.now.Sub(start) != ResourceTimeout {
		t.Fatalf("NextDeadline = %v, want in 15 s", r.now)
	}
	r.wantsRepeats("", evTick{})
	b.wants(t, 1, nil, resource.ErrNotFound)
	r.wantsRepeats("answered 0 b ", r.from(0, r.removed("b")))
	r.wantsRepeats("", r.from(0, ok(r.update("b", "1"))))
}

// Each kind of answer counts.
func TestAnyMentionAnswersAnOverdueName(t *testing.T) {
	for _, res := range []Result{{Removed: true}, {Heartbeat: true}, {Err: errAbsent}, {Error: &ServerError{Code: codeNotFound}}} {
		r := newRig(t)
		r.watch(partial, "a")
		r.do(evAsked{0, partial, []string{"a"}})
		r.now = r.now.Add(ResourceTimeout / 2)
		r.do(evTick{})
		res.Name = name(t, "a")
		r.wantsRepeats("answered 0 a ", r.from(0, res))
	}
}

// A stream that ends takes its overdue names along.
func TestOverdueNamesBelongToAStream(t *testing.T) {
	r := newRig(t)
	r.watch(partial, "a")
	for range 3 {
		r.do(evAsked{0, partial, []string{"a"}})
		r.now = r.now.Add(ResourceTimeout / 2)
		r.wantsRepeats("overdue 0 a ", evTick{})
		r.do(evLost{})
	}
	r.wantsRepeats("", r.from(0, ok(r.update("a", "1"))))
}

// A collection that the server never answers times out like a name (gRFC A57).
func TestCollectionThatIsNeverAnsweredTimesOut(t *testing.T) {
	for _, name := range []string{resource.Wildcard, "xdstp://a/test.Partial/x/*"} {
		r := newRig(t)
		g := r.gather(partial, name)
		r.do(evAsked{0, partial, []string{name}})
		r.now = r.now.Add(ResourceTimeout / 2)
		r.wantsRepeats("overdue 0 "+name+" ", evTick{})
		g.wants(t, 0, nil, nil)
		r.now = r.now.Add(ResourceTimeout / 2)
		r.do(evTick{})
		g.wants(t, 1, nil, resource.ErrNotFound)
		if r.state(partial, name) != DoesNotExist {
			t.Errorf("%s: state = %v, want DOES_NOT_EXIST", name, r.state(partial, name))
		}
		r.now = r.now.Add(time.Minute)
		r.respond(partial, ok(r.update("xdstp://a/test.Partial/x/1", "1")), ok(r.update("y", "1")))
		g.wants(t, 2, nil, nil)
	}
}
