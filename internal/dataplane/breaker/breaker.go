// Package breaker counts the calls that clusters have in flight, for circuit breaking (gRFC
// A32).
package breaker

import (
	"sync"
	"sync/atomic"
)

// A Set has the counters of all clusters. Channels with the same set share them. It is safe for
// concurrent use. The zero value is ready for use.
type Set struct {
	mu       sync.Mutex
	counters map[key]*Counter
}

// A key identifies a counter: a cluster and its EDS resource (A32).
type key struct{ cluster, service string }

// A Counter counts the calls of one cluster that are in flight. It is safe for concurrent use and
// takes no lock.
type Counter struct {
	set      *Set
	key      key
	uses     int // guarded by set.mu
	inFlight atomic.Int64
	others   [resources]atomic.Int64
}

// Acquire returns the counter of a cluster and its EDS resource. Release it when no further call
// will be started. Calls in flight may end later.
func (s *Set) Acquire(cluster, service string) *Counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{cluster, service}
	c := s.counters[k]
	if c == nil {
		if s.counters == nil {
			s.counters = make(map[key]*Counter)
		}
		c = &Counter{set: s, key: k}
		s.counters[k] = c
	}
	c.uses++
	return c
}

// Release releases the counter that Acquire returned. Call it once.
func (c *Counter) Release() {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.uses--
	if c.uses == 0 {
		delete(c.set.counters, c.key)
	}
}

// Start counts a call. It returns false if the limit of calls in flight is reached.
func (c *Counter) Start(most uint32) bool {
	if c.inFlight.Add(1) > int64(most) {
		c.inFlight.Add(-1)
		return false
	}
	return true
}

// InFlight returns the number of calls in flight.
func (c *Counter) InFlight() int64 { return c.inFlight.Load() }

// End counts the end of a call.
func (c *Counter) End() { c.inFlight.Add(-1) }
