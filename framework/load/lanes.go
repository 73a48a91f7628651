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

// A lane is one processor's part of a set of counters, as a rule. It fills a cache line, so that
// processors do not contend for it. Its counters are never reset. Reports are differences, so a
// call only adds.
type lane struct {
	n [counters]atomic.Uint64
	_ [64 - 8*counters]byte
}

// lanes are all parts of a set of counters.
type lanes []lane

func (l lanes) sum(counter int) (total uint64) {
	for i := range l {
		total += l[i].n[counter].Load()
	}
	return total
}

// totals are the counts of a locality since its creation.
type totals [counters]uint64

// totals reads the finished calls before the started ones. A call that it sees as finished is then
// also seen as started.
func (l lanes) totals() (t totals) {
	t[succeeded], t[failed] = l.sum(succeeded), l.sum(failed)
	t[issued] = l.sum(issued)
	return t
}

// inProgress returns the number of calls in progress. It returns zero if, by mistake, more calls
// finished than started.
func (t totals) inProgress() uint64 {
	return t[issued] - min(t[issued], t[succeeded]+t[failed])
}

// maxLanes limits the memory of a set of counters to 4 KiB.
const maxLanes = 64

// A spread assigns lanes to goroutines. A ticket in a [sync.Pool] stays with the processor that put
// it back. That is Go's cheapest hint of the processor that a goroutine runs on. A wrong hint costs
// time but never a count.
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

// add adds one to a counter.
func (s *spread) add(l lanes, counter int) {
	t := s.take()
	l[t.lane].n[counter].Add(1)
	s.give(t)
}
