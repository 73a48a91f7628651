package ads

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// requests lets time pass until the end and returns when requests leave, in seconds from
// now on.
func (r *rig) requests(d time.Duration, each func(Send)) (at []float64) {
	r.t.Helper()
	start := r.now
	for {
		var sends int
		for _, e := range r.do(Turn{}) {
			if s, ok := e.(Send); ok {
				r.do(Written{})
				at = append(at, r.now.Sub(start).Seconds())
				each(s)
				sends++
			}
		}
		if sends > 0 {
			continue
		}
		next, ok := r.m.NextDeadline()
		if !ok || next.Sub(start) > d {
			r.now = start.Add(d)
			return at
		}
		if !next.After(r.now) {
			r.t.Fatalf("NextDeadline = %v, which is not after now, and nothing is sent", next)
		}
		r.now = next
	}
}

var steps = []float64{0, 15, 45, 105, 225, 465, 765, 1065}

// In the state of the world, one request asks again for all names that are overdue.
func TestOverdueNamesAreAskedForWithBackoff(t *testing.T) {
	r := newRig(t)
	var names []string
	for i := range 10000 {
		names = append(names, fmt.Sprint(i))
	}
	r.open(endpoints, names...)
	r.do(Received{Type: endpoints, Version: "1", Nonce: "n1"})
	r.sent()
	r.pass(7500 * time.Millisecond)
	for i := range 100 {
		r.do(Overdue{endpoints, fmt.Sprint(i)})
	}
	again := 100
	at := r.requests(20*time.Minute, func(s Send) {
		if len(s.Names) != 10000 || s.Reject != "" || s.Nonce != "n1" || s.Again != again {
			t.Errorf("request of %d names, %d of them again, reject %q, nonce %q", len(s.Names), s.Again, s.Reject, s.Nonce)
		}
	})
	if !slices.Equal(at, steps) {
		t.Errorf("requests at %v s, want %v", at, steps)
	}
	for i := range 100 {
		r.do(Answered{endpoints, fmt.Sprint(i)})
	}
	if at := r.requests(time.Hour, func(Send) {}); len(at) > 0 {
		t.Errorf("requests at %v s, although every name was answered", at)
	}
}

// Names that become overdue right after such a request were in it.
func TestNamesOverdueInAClusterShareARequest(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a", "b", "c")
	r.pass(7500 * time.Millisecond)
	r.do(Overdue{endpoints, "a"})
	if s := r.sent(); s.Again != 1 {
		t.Errorf("request = %+v", s)
	}
	r.pass(time.Millisecond)
	r.do(Overdue{endpoints, "b"})
	r.silent()
	r.pass(7500 * time.Millisecond)
	r.do(Overdue{endpoints, "c"}) // asked for later
	if s := r.sent(); s.Again != 1 {
		t.Errorf("request = %+v", s)
	}
}

func TestDeltaOverdueNamesAreSubscribedToAgain(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(endpoints, "a", "b", "c")
	r.do(Overdue{endpoints, "b"}, Overdue{endpoints, "c"}, Overdue{endpoints, "unknown"})
	want := "[b c]"
	at := r.requests(5*time.Minute, func(s Send) {
		r.asks(s, want, "[]", nil)
		if s.Again != len(s.Subscribe) || s.Nonce != "" {
			t.Errorf("request = %+v, want %d names again and no nonce", s, len(s.Subscribe))
		}
		if want == "[b c]" {
			r.do(Answered{endpoints, "b"})
		}
		want = "[c]"
	})
	if want := steps[:5]; !slices.Equal(at, want) {
		t.Errorf("requests at %v s, want %v", at, want)
	}
	// A name that becomes overdue now waits for 15 s, not for minutes.
	r.do(Overdue{endpoints, "a"})
	var again []string
	r.requests(20*time.Second, func(s Send) { again = append(again, fmt.Sprint(s.Subscribe)) })
	if want := []string{"[a]", "[a c]"}; !slices.Equal(again, want) {
		t.Errorf("subscribed again to %v, want %v", again, want)
	}
	r.do(Unsubscribe{endpoints, "a"}, Unsubscribe{endpoints, "c"})
	r.pass(time.Second)
	r.asks(r.sent(), "[]", "[a c]", nil)
	if at := r.requests(time.Hour, func(Send) {}); len(at) > 0 {
		t.Errorf("requests at %v s for names that nobody wants", at)
	}
}

// A new stream subscribes to every name, and half of the timer starts again.
func TestOverdueNamesEndWithTheirStream(t *testing.T) {
	for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
		r := newDeltaRig(t, protocol)
		r.open(endpoints, "a")
		r.do(Overdue{endpoints, "a"})
		r.sent()
		r.do(Closed{})
		r.pass(time.Minute)
		r.do(Turn{}, Opened{})
		if s := r.sent(); s.Again != 0 {
			t.Errorf("first request of the new stream = %+v", s)
		}
		if at := r.requests(time.Hour, func(Send) {}); len(at) > 0 {
			t.Errorf("requests at %v s on the new stream", at)
		}
	}
}

func TestOverdueWildcard(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, resource.Wildcard)
	r.do(Overdue{clusters, resource.Wildcard})
	r.asks(r.sent(), "[*]", "[]", nil)
	r = newDeltaRig(t, StateOfTheWorld)
	r.open(clusters, resource.Wildcard)
	r.do(Overdue{clusters, resource.Wildcard})
	if s := r.sent(); len(s.Names) != 0 {
		t.Errorf("request = %+v, want one without names", s)
	}
}

// A server may believe that it has sent a name that was dropped, or that was a member of a
// collection that has ended. It sends it again only after a request without it.
func TestOverdueNameIsDroppedFirstWhereAServerMayRememberIt(t *testing.T) {
	glob := "xdstp://a/envoy.config.cluster.v3.Cluster/all/*"
	r := newRig(t)
	r.open(clusters, glob)
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next(glob)
	r.do(Unsubscribe{clusters, glob})
	r.next()
	r.do(Subscribe{clusters, "m"})
	r.next("m")
	r.pass(time.Second)
	r.do(Overdue{clusters, "m"})
	r.next()
	r.next("m")
	r.silent()

	r = newRig(t)
	r.open(clusters, "a", "b")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1", Accepted: []Accepted{{Name: "a"}, {Name: "b"}}})
	r.next("a", "b")
	r.do(Unsubscribe{clusters, "b"})
	r.next("a")
	r.do(Subscribe{clusters, "b"})
	r.next("a", "b")
	r.pass(time.Second)
	r.do(Overdue{clusters, "b"})
	r.next("a")
	r.next("a", "b")
	r.silent()

	r = newDeltaRig(t, Delta)
	r.open(clusters, glob)
	r.pass(time.Second)
	r.do(Unsubscribe{clusters, glob})
	r.asks(r.sent(), "[]", "["+glob+"]", nil)
	r.do(Subscribe{clusters, "m"})
	r.pass(time.Second)
	r.asks(r.sent(), "[m]", "[]", nil)
	r.pass(time.Second)
	r.do(Overdue{clusters, "m"})
	r.asks(r.sent(), "[]", "[m]", nil)
	r.pass(time.Second)
	r.asks(r.sent(), "[m]", "[]", nil)
	r.silent()
}

// Nobody repeats a name that was dropped while it waited to be subscribed to anew.
func TestDeltaOverdueNameThatIsDroppedWhileItWaitsIsForgotten(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, resource.Wildcard, "m")
	r.pass(time.Second)
	r.do(Unsubscribe{clusters, resource.Wildcard})
	for range 2 { // the first one spells the wildcard, or not
		r.do(Turn{}, Written{})
	}
	r.do(Overdue{clusters, "m"}, Unsubscribe{clusters, "m"})
	if at := r.requests(time.Hour, func(Send) {}); len(at) > 1 {
		t.Errorf("requests after %v seconds, want one that drops the name", at)
	}
}
