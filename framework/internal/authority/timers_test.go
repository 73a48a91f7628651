package authority

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// A stopped timer stays stopped although its record has another one, whatever its number.
func TestStoppedTimerIsNotStartedAgain(t *testing.T) {
	for last := range uint32(4) {
		var timers timers
		timers.last = last - 2 // starts over at 0
		r, start := new(record), time.Unix(0, 0)
		for i := range time.Duration(4) {
			timers.start(r, start.Add(i), time.Second)
			if at, ok := timers.next(); r.timer == 0 || !ok || !at.at.Equal(start.Add(i+time.Second)) {
				t.Errorf("timer %d ends at %v, %v", i, at.at, ok)
			}
		}
		timers.stopAll()
		if _, ok := timers.next(); ok || r.timer != 0 {
			t.Error("a timer runs after all of them were stopped")
		}
	}
	// Behind another timer, a stopped one stays in the queue.
	var timers timers
	timers.last = 2
	first, r, start := new(record), new(record), time.Unix(0, 0)
	timers.start(r, start, time.Second)
	r.timer = 0
	timers.start(r, start.Add(time.Minute), time.Second)
	timers.start(first, start.Add(time.Hour), time.Second)
	if at, ok := timers.next(); !ok || !at.at.Equal(start.Add(time.Minute+time.Second)) {
		t.Errorf("the next timer ends at %v, %v; want the second one", at.at, ok)
	}
}

// Halves are counted from the front of the queue, which answers shorten.
func TestHalvesAfterAnswers(t *testing.T) {
	r := newRig(t)
	for _, s := range []string{"a", "b", "c", "d"} {
		r.watch(partial, s)
	}
	r.do(evAsked{0, partial, []string{"a", "b"}})
	r.now = r.now.Add(5 * time.Second)
	r.do(evAsked{0, partial, []string{"c", "d"}})
	r.now = r.now.Add(2500 * time.Millisecond)
	r.wantsRepeats("overdue 0 a overdue 0 b ", evTick{})
	r.wantsRepeats("answered 0 a answered 0 b ", r.from(0, ok(r.update("a", "1")), ok(r.update("b", "1"))))
	r.next(5 * time.Second)
	r.now = r.now.Add(5 * time.Second)
	r.wantsRepeats("overdue 0 c overdue 0 d ", evTick{})
	r.next(7500 * time.Millisecond)
}

// Times to live end in their order, whatever changes before.
func TestLifetimesEndInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var queue lifetimes
	all := make([]record, 40)
	for range 5000 {
		at := time.Time{}
		if random.IntN(3) > 0 {
			at = time.Unix(random.Int64N(1000), 0)
		}
		queue.set(&all[random.IntN(len(all))], at)
		n, first := 0, time.Time{}
		for i := range all {
			if r := &all[i]; r.expires() {
				n++
				if first.IsZero() || r.rare.expires.Before(first) {
					first = r.rare.expires
				}
			}
		}
		if len(queue) != n || n > 0 && !queue[0].rare.expires.Equal(first) {
			t.Fatalf("%d of %d records in the queue, which does not begin with %v", len(queue), n, first)
		}
		if slices.ContainsFunc(queue, func(r *record) bool { return queue[r.rare.place-1] != r }) {
			t.Fatal("a record does not have its place")
		}
	}
}

// A response that names every resource ends the members that only another server had, at
// once.
func TestStraysOfCompleteTypesLeaveAtOnce(t *testing.T) {
	r := newFallbackRig(t)
	g := r.gather(complete, "*")
	r.do(evLost{Server: 0, Err: errRefused})
	a, b := r.update("a", "1"), r.update("b", "1")
	r.do(Response{Server: 1, Type: complete, Results: []Result{ok(a), ok(b)}})
	r.watch(complete, "b")
	r.watch(complete, "c")
	r.do(Response{Server: 0, Type: complete, Results: []Result{ok(r.update("c", "1"))}})
	g.wantsMember(t, "a", nil, resource.ErrRemoved)
	g.wantsMember(t, "b", b, nil) // by its name, it has its time
}

// A collection without members may be watched and cancelled.
func TestCollectionWithoutMembers(t *testing.T) {
	r := newRig(t)
	g := r.gather(partial, "*")
	r.expect("0-*", evCancel{Type: partial, Name: name(t, "*"), Watcher: g})
	if len(r.m.table(partial).records) != 0 {
		t.Error("the collection is left")
	}
}

// Responses are told apart, whatever their number.
func TestResponsesAreToldApart(t *testing.T) {
	for responses := range uint32(4) {
		r := newRig(t)
		a := r.watch(complete, "a")
		r.m.responses = responses
		u := r.update("a", "1")
		r.respond(complete, ok(u))
		r.respond(complete)
		a.wants(t, 2, u, resource.ErrRemoved)
	}
}

// A name that is asked for again gets a timer if the server in use has not answered it. A
// time-out is no answer, and a rejected resource is one.
func TestTimersOfNamesThatAreAskedForAgain(t *testing.T) {
	r := newRig(t, feature.ResourceTimerIsTransientError)
	r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	r.now = r.now.Add(ResourceTimeoutTransient)
	r.do(evTick{})
	r.due(0)
	r.do(evAsked{0, partial, []string{"a"}})
	r.due(ResourceTimeoutTransient)
	for _, answer := range []Result{r.bad("a", "bad"), r.removed("a"), ok(r.update("a", "1"))} {
		r.delta(answer)
		r.do(evAsked{0, partial, []string{"a"}})
		r.due(0)
	}
}

// An update of another server is the one of the server in use once that sends the same.
func TestUnchangedFromAnotherServer(t *testing.T) {
	r := newFallbackRig(t)
	r.watch(partial, "a")
	first := []Result{ok(r.update("a", "1"))}
	r.do(r.from(0, first...))
	first[0].Record = Handle{r.m.table(partial).records["a"]}
	r.do(evLost{Server: 0, Err: errRefused})
	r.watch(partial, "b")
	same := Response{Server: 1, Type: partial, Unchanged: []Unchanged{{Update: first[0].Update, Record: first[0].Record}}, Partial: true}
	r.expect("0?a", same)
	r.expect("", same)
}

// A pause gives a resource no less time than it had left.
func TestTimersDoNotEndEarlyAfterAPause(t *testing.T) {
	r := newRig(t)
	w := r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	r.now = r.now.Add(time.Second)
	r.do(evPause{Server: 0, Since: r.now})
	r.now = r.now.Add(time.Hour)
	r.do(evResume{Server: 0})
	r.now = r.now.Add(ResourceTimeout - 2*time.Second)
	r.do(evTick{})
	w.wants(t, 0, nil, nil)
	r.now = r.now.Add(time.Second)
	r.do(evTick{})
	w.wants(t, 1, nil, resource.ErrNotFound)
}
