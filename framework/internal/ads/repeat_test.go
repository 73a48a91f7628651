package ads

import (
	"strings"
	"testing"
	"time"
)

// A request within half of the resource timer has asked for a name again already. One that
// is older has not.
func TestRequestThatRepeatsARecentName(t *testing.T) {
	for after, repeated := range map[time.Duration]bool{
		DefaultRepeat.Base/2 - 1: false,
		DefaultRepeat.Base / 2:   true,
	} {
		r := newRig(t)
		r.open(endpoints, "a", "b")
		r.do(Overdue{endpoints, "a"})
		if s := r.sent(); s.Again != 1 {
			t.Errorf("request = %+v, want 1 name again", s)
		}
		r.pass(after)
		r.do(Overdue{endpoints, "b"})
		if repeated {
			r.sent()
		}
		r.silent()
	}
}

// Names that are new do not count as repeated.
func TestDeltaCountsNamesAgain(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(endpoints, "a", "b")
	r.do(Overdue{endpoints, "a"}, Subscribe{endpoints, "c"}, Subscribe{endpoints, "d"})
	r.pass(time.Second)
	s := r.sent()
	r.asks(s, "[a c d]", "[]", nil)
	if s.Again != 1 {
		t.Errorf("request = %+v, want 1 name again", s)
	}
}

// Members of each collection that has ended are unsubscribed from first.
func TestDeltaMembersOfSeveralCollectionsThatEnded(t *testing.T) {
	const one, two = "xdstp://e/envoy.config.cluster.v3.Cluster/1/", "xdstp://e/envoy.config.cluster.v3.Cluster/2/"
	r := newDeltaRig(t, Delta)
	r.open(clusters, one+"*", two+"*")
	r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted(one+"m", "1", two+"m", "1")})
	r.sent()
	r.do(Unsubscribe{clusters, one + "*"}, Unsubscribe{clusters, two + "*"})
	r.pass(time.Second)
	r.asks(r.sent(), "[]", "["+one+"* "+two+"*]", nil)
	for _, member := range []string{one + "m", two + "m"} {
		r.do(Subscribe{clusters, member})
		r.pass(time.Second)
		r.asks(r.sent(), "[]", "["+member+"]", nil)
		r.pass(time.Second)
		r.asks(r.sent(), "["+member+"]", "[]", nil)
	}
}

// A NACK that left before its time is no reason to wait longer for the next one.
func TestEarlyNackDoesNotProlongThePause(t *testing.T) {
	r, now := newTestRejections(), time.Unix(0, 0)
	ev := &Received{Reject: "bad", Digest: 1, Bad: []uint64{42}}
	r.pause(&now, 1, 42)
	r.met(ev, now).answered(now)
	if u := r.met(ev, now); u.repeats != 1 || !u.until.Equal(now.Add(100*ms)) {
		t.Errorf("after an early NACK: %d repeats, waits for %v; want 1, 100 ms", u.repeats, u.until.Sub(now))
	}
	u := r.runs[0]
	u.answered(u.until)
	if u = r.met(ev, u.until); u.repeats != 2 {
		t.Errorf("after a NACK in time: %d repeats, want 2", u.repeats)
	}
}

// Overdue names that a request has no room for are repeated by the next one.
func TestDeltaRepeatsLongNamesInSeveralRequests(t *testing.T) {
	r := newDeltaRig(t, Delta)
	long := strings.Repeat("x", 1<<20-1)
	r.open(endpoints, "a"+long, "b"+long)
	r.do(Subscribe{endpoints, "c" + long})
	r.pass(time.Second)
	r.sent()
	for _, s := range []string{"a", "b", "c"} {
		r.do(Overdue{endpoints, s + long})
	}
	for _, want := range []int{2, 1} {
		if s := r.sent(); s.Again != want || len(s.Subscribe) != want {
			t.Errorf("%d of %d names again, want %d", s.Again, len(s.Subscribe), want)
		}
	}
	r.silent()
}
