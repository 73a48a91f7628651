package adsserver

import (
	"container/heap"
	"slices"
	"time"
)

// timers has the heartbeats and the expiries of resources.
type timers struct {
	queue queue
	live  int // entries of the queue that were needed when stale ones were last dropped
	timer *time.Timer
	next  time.Time // for which timer is set
}

// A due is the next time at which something happens to an entry.
type due struct {
	at    time.Time
	kind  *kind
	entry *entry
	stamp uint64 // of the content
}

type queue []due

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements [heap.Interface].
func (q *queue) Push(x any) { *q = append(*q, x.(due)) }

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = due{}
	*q = old[:len(old)-1]
	return last
}

// heartbeats are sent after this share of the TTL.
const heartbeatShare = 3

// add schedules the next event of an entry with a TTL or an expiry.
func (t *timers) add(k *kind, e *entry) {
	x := e.content
	if x == nil || x.ttl <= 0 && x.expires.IsZero() {
		return
	}
	at := x.expires
	if x.ttl > 0 {
		if x.beat.IsZero() {
			x.beat = time.Now().Add(max(x.ttl/heartbeatShare, time.Millisecond))
		}
		if at.IsZero() || x.beat.Before(at) {
			at = x.beat
		}
	}
	if x.due == at.UnixNano() {
		return
	}
	x.due = at.UnixNano()
	heap.Push(&t.queue, due{at, k, e, x.stamp})
	const spare = 32 // a short queue is not worth the work
	if len(t.queue) > 2*t.live+spare {
		t.queue = slices.DeleteFunc(t.queue, due.stale) // renewals make them
		heap.Init(&t.queue)
		t.live = len(t.queue)
	}
}

// stale reports whether the content has another next time, or is gone.
func (d due) stale() bool {
	x := d.entry.content
	return x == nil || x.stamp != d.stamp || x.due != d.at.UnixNano()
}

// arm sets the timer to the next event.
func (t *timers) arm(c *Core) {
	if len(t.queue) == 0 || c.closed || !t.next.IsZero() && !t.queue[0].at.Before(t.next) {
		return
	}
	t.next = t.queue[0].at
	if wait := time.Until(t.next); t.timer == nil {
		t.timer = time.AfterFunc(wait, c.tick)
	} else {
		t.timer.Reset(wait)
	}
}

func (t *timers) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
	t.queue = nil
}

// tick handles all events that are due.
func (c *Core) tick() {
	c.mu.Lock()
	now := time.Now()
	t := &c.timers
	t.next = time.Time{}
	for len(t.queue) > 0 && !t.queue[0].at.After(now) {
		d := heap.Pop(&t.queue).(due)
		x := d.entry.content
		if d.stale() || c.types[d.kind.url] != d.kind {
			continue
		}
		if !x.expires.IsZero() && !now.Before(x.expires) {
			c.set(d.kind, d.entry, nil)
			c.release(d.kind, d.entry)
			continue
		}
		if x.ttl > 0 && !now.Before(x.beat) {
			d.entry.beat()
			for _, name := range x.aliases {
				if a := d.kind.entries[name]; a != nil && a.content == x {
					a.beat()
				}
			}
			x.beat = time.Time{}
		}
		t.add(d.kind, d.entry)
	}
	t.arm(c)
	c.flush()
	c.wake()
	c.mu.Unlock()
}

// beat notes a heartbeat for the streams of an entry.
func (e *entry) beat() {
	for _, s := range e.users {
		if len(s.beats) <= s.subs.n { // one that does not read is told later, by the next
			s.beats = append(s.beats, e)
		}
		s.stream.touch()
	}
}
