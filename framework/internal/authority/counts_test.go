package authority

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// checkCounts compares the counts with the records. The rig calls it after every event of every
// test.
func (r *rig) checkCounts() {
	r.t.Helper()
	want := make(map[Count]int)
	for e := range r.m.Entries() {
		if !e.Collection {
			want[Count{Type: e.Type, State: e.State, Cached: e.Update != nil}]++
		}
	}
	got := make(map[Count]int)
	for c := range r.m.Counts() {
		n := c.Resources
		c.Resources = 0
		got[c] = n
	}
	if !maps.Equal(got, want) {
		r.t.Errorf("counts = %v; the records are %v", got, want)
	}
}

// wantsCounts checks all counts.
func (r *rig) wantsCounts(want ...Count) {
	r.t.Helper()
	if got := slices.Collect(r.m.Counts()); !slices.Equal(got, want) {
		r.t.Errorf("counts = %v, want %v", got, want)
	}
}

// The counts distinguish the states of gRFC A88 and cached resources. Collections are not counted.
func TestCounts(t *testing.T) {
	r := newRig(t)
	r.wantsCounts()
	r.watch(partial, "a")
	b := r.watch(partial, "b")
	r.gather(complete, "*")
	r.wantsCounts(Count{partial, Requested, false, 2})
	r.delta(ok(r.update("a", "1")), r.bad("b", "bad"))
	r.respond(complete, ok(r.update("member", "1")))
	r.wantsCounts(Count{complete, Acked, true, 1}, Count{partial, Acked, true, 1}, Count{partial, Nacked, false, 1})
	r.delta(r.bad("a", "bad"))
	r.respond(complete)
	r.wantsCounts(Count{partial, Nacked, false, 1}, Count{partial, Nacked, true, 1})
	r.delta(r.removed("a"))
	r.cancel(partial, "b", b)
	r.wantsCounts(Count{partial, DoesNotExist, true, 1})
	for range r.m.Counts() { // an iteration may end early
		break
	}
}

// With fail_on_data_errors, a removed resource is counted without its update. A timeout under
// resource_timer_is_transient_error is counted as such.
func TestCountsWithServerFeatures(t *testing.T) {
	r := newRig(t, feature.FailOnDataErrors, feature.ResourceTimerIsTransientError)
	r.watch(partial, "a")
	r.watch(partial, "b")
	r.do(evAsked{0, partial, []string{"b"}})
	r.delta(ok(r.update("a", "1")))
	r.delta(r.removed("a"))
	r.now = r.now.Add(ResourceTimeoutTransient)
	r.do(evTick{})
	r.wantsCounts(Count{partial, DoesNotExist, false, 1}, Count{partial, Timeout, false, 1})
}

// An entry has the time of its error, and of no error that is over.
func TestTimeOfAnError(t *testing.T) {
	r := newRig(t)
	r.watch(partial, "a")
	at := func(want time.Time) {
		t.Helper()
		if got := r.entry("a").FailedAt; !got.Equal(want) {
			t.Errorf("failed at %v, want %v", got, want)
		}
	}
	at(time.Time{})
	for i, result := range []Result{r.bad("a", "bad"), r.bad("a", "bad"), r.removed("a"), {Name: name(t, "a"), Error: &ServerError{Code: 14}}} {
		r.now = time.Unix(100+int64(i), 0)
		r.delta(result)
		at(r.now)
	}
	r.delta(ok(r.update("a", "1")))
	at(time.Time{})
	r.do(evLost{Err: errors.New("unreachable")})
	if e := r.entry("a"); !errors.Is(e.Err, resource.ErrTransport) {
		t.Errorf("error = %v, want that of the transport", e.Err)
	}
	at(time.Time{})
}
