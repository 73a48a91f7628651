package ads

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// sentAsIs is [rig.sent] with the names that the machine has.
func (r *rig) sentAsIs() Send {
	r.t.Helper()
	for _, e := range r.do(Turn{}) {
		if s, ok := e.(Send); ok {
			r.do(Written{})
			return s
		}
	}
	r.t.Fatal("the turn sent nothing")
	return Send{}
}

// Requests share the machine's list of names, which never changes under them, and have
// the same one as long as nothing else is wanted.
func TestNamesOfRequestsDoNotChange(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.do(Subscribe{clusters, fmt.Sprint(i)})
	}
	r.do(Turn{})
	r.do(Opened{})
	first := r.sentAsIs()
	want := slices.Clone(first.Names)
	r.do(Received{Type: clusters, Version: "1", Nonce: "1"})
	if again := r.sentAsIs(); &again.Names[0] != &first.Names[0] || len(again.Names) != len(first.Names) {
		t.Error("the names of an ACK are others than those of the request, although nothing else is wanted")
	}
	for i := range 20 {
		r.do(Unsubscribe{clusters, fmt.Sprint(i % 5)}, Subscribe{clusters, fmt.Sprint("new ", i)})
		r.pass(time.Minute)
		s := r.sentAsIs()
		now := slices.Clone(s.Names)
		r.do(Subscribe{clusters, fmt.Sprint("late ", i)}, Unsubscribe{clusters, s.Names[0]})
		if !slices.Equal(s.Names, now) {
			t.Fatalf("step %d: names of a request became %v; they were %v", i, s.Names, now)
		}
	}
	if !slices.Equal(first.Names, want) {
		t.Errorf("names of the first request became %v; they were %v", first.Names, want)
	}
}
