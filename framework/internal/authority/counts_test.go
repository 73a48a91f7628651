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

// checkCounts compares the counts with the records. The rig calls it after every event, unless there are
// many records.
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
	r.run("watch endpoint a", "watch endpoint b", "watch cluster *")
	r.wantsCounts(Count{endpoints, Requested, false, 2})
	r.run("response endpoint a=1 b=invalid", "response cluster member=1")
	r.wantsCounts(Count{clusters, Acked, true, 1}, Count{endpoints, Acked, true, 1}, Count{endpoints, Nacked, false, 1})
	r.run("response endpoint a=invalid", "response cluster")
	r.wantsCounts(Count{endpoints, Nacked, false, 1}, Count{endpoints, Nacked, true, 1})
	r.run("response endpoint a=removed", "cancel endpoint b")
	r.wantsCounts(Count{endpoints, DoesNotExist, true, 1})
	for range r.m.Counts() { // an iteration may end early
		break
	}
}

// With fail_on_data_errors, a removed resource is counted without its update. A timeout under
// resource_timer_is_transient_error is counted as such.
func TestCountsWithServerFeatures(t *testing.T) {
	r := newRigOf(t, newServer(t, "server", feature.FailOnDataErrors, feature.ResourceTimerIsTransientError))
	r.run("watch endpoint a", "watch endpoint b", "requested endpoint b")
	r.run("response endpoint a=1", "response endpoint a=removed", "wait 30s")
	r.wantsCounts(Count{endpoints, DoesNotExist, false, 1}, Count{endpoints, Timeout, false, 1})
}

// An entry has the time of its error, and of no error that is over.
func TestTimeOfAnError(t *testing.T) {
	r := newRig(t)
	r.run("watch endpoint a")
	at := func(want time.Time) {
		t.Helper()
		if got := r.entry("a").FailedAt; !got.Equal(want) {
			t.Errorf("failed at %v, want %v", got, want)
		}
	}
	at(time.Time{})
	for _, result := range []string{"a=invalid", "a=invalid", "a=removed", "a=(error, 14)"} {
		r.run("wait 1s", "response endpoint "+result)
		at(r.now)
	}
	r.run("response endpoint a=1")
	at(time.Time{})
	r.run("ended refused")
	if e := r.entry("a"); !errors.Is(e.Err, resource.ErrTransport) {
		t.Errorf("error = %v, want that of the transport", e.Err)
	}
	at(time.Time{})
}
