package authority

import (
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A State is where a resource stands (gRFC A88).
type State uint8

// The states; see the package's documentation.
const (
	Requested State = iota
	Acked
	Nacked
	DoesNotExist
	Timeout
)

// String is the state's name as gRFC A88 spells it.
func (s State) String() string {
	return [...]string{"REQUESTED", "ACKED", "NACKED", "DOES_NOT_EXIST", "TIMEOUT"}[s]
}

// A record is what is known of one watched resource.
type record struct {
	typ      *resource.Type
	name     xdstp.Name
	state    State
	update   resource.Update // in use; nil when there is none
	err      error           // the data error of the state; nil when Acked or Requested
	watchers []Watcher

	seen  uint32 // the last response that mentioned it
	timer uint32 // the armed timer; 0 when none is
}

func (r *record) removeWatcher(w Watcher) {
	if i := slices.Index(r.watchers, w); i >= 0 {
		r.watchers = slices.Delete(r.watchers, i, i+1)
	}
}

// timers are the does-not-exist timers of an authority. All of them run for the
// same time, so that the one started first ends first: a queue. A stopped timer
// stays in the queue until it would have ended; its number no longer is its
// record's.
type timers struct {
	queue []timer
	last  uint32
}

type timer struct {
	at     time.Time
	record *record
	number uint32
}

func (t *timers) start(r *record, at time.Time) {
	t.last++
	if t.last == 0 {
		t.last++ // 0 means that no timer is armed
	}
	r.timer = t.last
	t.queue = append(t.queue, timer{at: at, record: r, number: t.last})
}

// next is the first timer that was not stopped.
func (t *timers) next() (timer, bool) {
	for len(t.queue) > 0 {
		if first := t.queue[0]; first.record.timer == first.number {
			return first, true
		}
		t.queue[0] = timer{}
		t.queue = t.queue[1:]
	}
	t.queue = nil
	return timer{}, false
}

// stopAll stops every timer.
func (t *timers) stopAll() {
	for _, q := range t.queue {
		if q.record.timer == q.number {
			q.record.timer = 0
		}
	}
	t.queue = nil
}
