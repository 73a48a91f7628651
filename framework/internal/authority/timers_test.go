package authority

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A stopped timer stays stopped, even if its record starts another one with any number.
func TestStoppedTimerIsNotStartedAgain(t *testing.T) {
	for last := range uint32(4) {
		var timers timers
		timers.last = last - 2 // overflows
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

// Times to live expire in order, whatever other timers change.
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
				if first.IsZero() || r.extras.expires.Before(first) {
					first = r.extras.expires
				}
			}
		}
		if len(queue) != n || n > 0 && !queue[0].extras.expires.Equal(first) {
			t.Fatalf("%d of %d records in the queue, which does not begin with %v", len(queue), n, first)
		}
		if slices.ContainsFunc(queue, func(r *record) bool { return queue[r.extras.position-1] != r }) {
			t.Fatal("a record does not have its place")
		}
	}
}
