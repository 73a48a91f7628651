package load

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// The counters of a lane.
const (
	issued = iota
	succeeded
	failed

	counters

	dropped = issued // of a category of drops, whose lanes count nothing else
)

// A lane is the part of a set of counters that, as a rule, one processor adds to. It
// fills a cache line, so that no two processors want the same one. What it counts is
// never reset: reports are differences, so that adding is all that a call does.
type lane struct {
	n [counters]atomic.Uint64
	_ [64 - 8*counters]byte
}

// lanes are the parts of a set of counters.
type lanes []lane

func (l lanes) sum(counter int) (total uint64) {
	for i := range l {
		total += l[i].n[counter].Load()
	}
	return total
}

// totals is what a locality has counted since it exists.
type totals [counters]uint64

// totals reads what has finished before what was started: a call that is seen to
// have finished is then seen to have started.
func (l lanes) totals() (t totals) {
	t[succeeded], t[failed] = l.sum(succeeded), l.sum(failed)
	t[issued] = l.sum(issued)
	return t
}

// inProgress is zero if more calls were finished than started, by mistake.
func (t totals) inProgress() uint64 {
	return t[issued] - min(t[issued], t[succeeded]+t[failed])
}

// maxLanes bounds what a set of counters takes: 4 KiB.
const maxLanes = 64

// A spread says which lane is whose. A ticket in a [sync.Pool] stays with the
// processor that put it back: it is the cheapest hint of where a goroutine runs that
// Go has. A wrong hint costs time, and never a count.
type spread struct {
	lanes   int // a power of two
	tickets sync.Pool
	given   atomic.Uint32
}

type ticket struct{ lane int }

func newSpread() *spread {
	processors := min(runtime.GOMAXPROCS(0), maxLanes)
	s := &spread{lanes: 1 << bits.Len(uint(processors-1))}
	s.tickets.New = func() any { return &ticket{int(s.given.Add(1)) & (s.lanes - 1)} }
	return s
}

func (s *spread) take() *ticket  { return s.tickets.Get().(*ticket) }
func (s *spread) give(t *ticket) { s.tickets.Put(t) }

// add counts one.
func (s *spread) add(l lanes, counter int) {
	t := s.take()
	l[t.lane].n[counter].Add(1)
	s.give(t)
}
