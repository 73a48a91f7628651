package ads

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// next is the next request, the last one having left.
func (r *rig) next(want ...string) Send {
	r.t.Helper()
	r.pass(time.Second)
	s := r.sent()
	if !slices.Equal(slices.Sorted(slices.Values(s.Names)), want) {
		r.t.Fatalf("names = %v, want %v", s.Names, want)
	}
	return s
}

// The response crosses the request that drops a name: the server has not read it, and
// passes over it for its nonce.
func TestNameIsDroppedWithTheAckOfAResponseThatCrossed(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next("a", "b")
	r.do(Unsubscribe{clusters, "a"})
	r.next("b")
	r.do(Received{Type: clusters, Version: "2", Nonce: "n2"}, Subscribe{clusters, "a"})
	if s := r.next("b"); s.Nonce != "n2" {
		t.Errorf("nonce = %q, want the ACK of n2", s.Nonce)
	}
	r.next("a", "b")
	r.pass(time.Minute)
	r.silent()
}

// It may cross all of them, and the name is there again before it comes.
func TestNameIsDroppedAnewUntilItComes(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next("a", "b")
	r.do(Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"})
	r.next("b")
	r.next("a", "b")
	if !r.m.Curious(clusters) {
		t.Error("the machine does not ask what a response has")
	}
	r.do(Received{Type: clusters, Version: "2", Nonce: "n2", Accepted: []Accepted{{Name: "b"}}})
	r.next("a", "b") // the ACK
	r.next("b")
	r.next("a", "b")
	r.do(Received{Type: clusters, Version: "3", Nonce: "n3", Accepted: []Accepted{{Name: "a"}}})
	r.next("a", "b")
	if r.m.Curious(clusters) {
		t.Error("the machine still asks what a response has")
	}
	r.do(Received{Type: clusters, Version: "4", Nonce: "n4"})
	r.next("a", "b")
	r.pass(time.Minute)
	r.silent()
}

// A name that there is not never comes. It does not cost two requests a response for ever.
func TestNameThatNeverComesIsDroppedAnewAFewTimes(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"})
	r.next("b")
	r.next("a", "b")
	for i := range maxAnew + 3 {
		r.do(Received{Type: clusters, Version: fmt.Sprint(i), Nonce: fmt.Sprint("n", i)})
		r.next("a", "b") // the ACK
		if i < maxAnew {
			r.next("b")
			r.next("a", "b")
		}
		r.pass(time.Minute)
		r.silent()
	}
}

func TestNothingIsDoubtedThatIsNotWanted(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"})
	r.next("b")
	r.next("a", "b")
	r.do(Unsubscribe{clusters, "a"})
	r.next("b")
	for i := range 3 {
		r.do(Received{Type: clusters, Version: fmt.Sprint(i), Nonce: fmt.Sprint("n", i)})
		r.next("b")
	}
	r.pass(time.Minute)
	r.silent()
	r.do(Closed{})
	r.pass(time.Minute)
	r.do(Turn{}, Opened{})
	r.next("b")
	r.do(Received{Type: clusters, Version: "9", Nonce: "n9"}, Subscribe{clusters, "a"})
	r.next("b")
	r.next("a", "b") // nothing of the last stream is doubted on this one
}

// Within a stream, only a response changes the version: another one, or none, beside an
// old nonce is no answer that a server understands.
func TestRenewWaitsForTheNextStream(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next("a")
	r.do(Renew{}, Subscribe{clusters, "b"})
	if s := r.next("a", "b"); s.Version != "1" || s.Nonce != "n1" {
		t.Errorf("request = %+v, want the version that was accepted", s)
	}
	r.do(Closed{})
	r.pass(time.Minute)
	r.do(Turn{}, Opened{})
	if s := r.next("a", "b"); s.Version != "" {
		t.Errorf("request = %+v, want no version", s)
	}
}

// While a server does not read, everything crosses the one request that is on its way.
func TestNameIsDroppedAnewBehindARequestThatIsNotRead(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next("a", "b")
	r.do(Unsubscribe{clusters, "a"})
	r.pass(time.Second)
	if e := r.do(Turn{}); len(e) != 1 || len(e[0].(Send).Names) != 1 {
		t.Fatalf("effects = %v, want a request for b", e)
	}
	r.do(Subscribe{clusters, "a"}, Turn{})
	for i := range maxAnew + 3 {
		r.do(Received{Type: clusters, Version: fmt.Sprint("x", i), Nonce: fmt.Sprint("x", i)}, Turn{})
	}
	r.do(Written{})
	r.next("b")
	r.next("a", "b")
}

// What comes although no request has asked for it again, the server still has on its list.
func TestNameThatComesUnaskedWasNeverSeenDropped(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next("a", "b")
	r.do(Unsubscribe{clusters, "a"})
	r.pass(time.Second)
	r.do(Turn{}, Subscribe{clusters, "a"}, Received{Type: clusters, Version: "2", Nonce: "n2", Accepted: []Accepted{{Name: "a"}}})
	r.do(Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"}, Written{})
	r.next("b")
	r.next("a", "b")
}

// Names that come and go leave nothing behind where the server has nothing to say about
// them.
func TestNamesThatComeAndGoLeaveNothing(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1", Accepted: []Accepted{{Name: "a"}}})
	r.next("a")
	for i := range 1000 {
		name := fmt.Sprint("b", i)
		r.do(Subscribe{clusters, name})
		r.next("a", name)
		r.do(Unsubscribe{clusters, name})
		r.next("a")
	}
	if n := len(r.m.of(clusters).(*sotwNames).doubts.left); n > 20 {
		t.Errorf("%d names are remembered after 1,000 that nobody wants, want those of the last 20 s at most", n)
	}
}
