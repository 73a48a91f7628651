package ads

import (
	"slices"
	"testing"
	"time"
)

// Release ends a stream on which nothing is wanted at the next turn, in every state of the stream.
func TestReleaseEndsTheStreamWithoutLingering(t *testing.T) {
	gone := []Effect{Idle{Released: true}}
	for name, prepare := range map[string]func(r *rig){
		"open":    func(r *rig) { r.open(clusters, "a") },
		"opening": func(r *rig) { r.do(Subscribe{clusters, "a"}, Turn{}) },
		"waiting": func(r *rig) { r.do(Subscribe{clusters, "a"}, Turn{}, Closed{}) },
	} {
		r := newRig(t)
		prepare(r)
		if e := r.do(Unsubscribe{clusters, "a"}, Release{}); len(e) != 0 {
			t.Errorf("%s: effects before the turn: %v, want none", name, e)
		}
		if e := r.do(Turn{}); !slices.Equal(e, gone) {
			t.Errorf("%s: effects = %v, want %v", name, e, gone)
		}
		if at, ok := r.m.NextDeadline(); ok {
			t.Errorf("%s: due at %v although nothing is wanted", name, at)
		}
	}
}

// A stream that somebody else needs stays, and lingers as usual when it is not needed
// any longer.
func TestReleaseLeavesAStreamThatIsWanted(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.pass(time.Second)
	r.do(Unsubscribe{clusters, "a"}, Release{})
	r.sent()
	r.do(Unsubscribe{clusters, "b"})
	if e := r.do(Turn{}); slices.ContainsFunc(e, func(e Effect) bool { _, is := e.(Idle); return is }) {
		t.Errorf("effects = %v; an earlier Release must not end the stream", e)
	}
}

// A machine without a stream has nothing to release.
func TestReleaseOfNothing(t *testing.T) {
	r := newRig(t)
	if e := r.do(Release{}, Turn{}); len(e) != 0 {
		t.Errorf("effects = %v, want none", e)
	}
}

// A released stream keeps its back-off. The machine has a deadline for the end of it as soon
// as something is wanted again.
func TestReleasedStreamComesBackAfterItsBackoff(t *testing.T) {
	r := newRig(t)
	r.do(Subscribe{clusters, "a"}, Turn{}, Closed{})
	r.do(Unsubscribe{clusters, "a"}, Release{}, Turn{})
	r.do(Subscribe{clusters, "a"}, Turn{})
	at, ok := r.m.NextDeadline()
	if want := r.now.Add(time.Second); !ok || !at.Equal(want) {
		t.Fatalf("NextDeadline = %v, %v, want %v", at, ok, want)
	}
	r.now = at
	if e := r.do(Turn{}); !slices.Equal(e, []Effect{Open{}}) {
		t.Errorf("effects = %v, want Open", e)
	}
}
