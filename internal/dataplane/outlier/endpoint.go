// Package outlier finds the endpoints of a cluster that do worse than the others and ejects them
// for a while (gRFC A50, per endpoint as in A61). It has no clock: its owner passes the time and
// applies the result.
package outlier

import (
	"sync/atomic"
	"time"
)

// An Endpoint counts the calls of one endpoint.
type Endpoint struct {
	active  atomic.Pointer[bucket]
	buckets [2]bucket

	ejected   bool
	ejectedAt time.Time
	// multiplier counts the ejections. It decreases for intervals without ejection.
	multiplier int

	// The last interval's calls.
	successes, failures uint64
}

// A bucket has the calls of an interval.
type bucket struct{ successes, failures atomic.Uint64 }

func newEndpoint() *Endpoint {
	e := new(Endpoint)
	e.active.Store(&e.buckets[0])
	return e
}

// Record counts the end of a call. It is safe for concurrent use and does not allocate.
func (e *Endpoint) Record(success bool) {
	if b := e.active.Load(); success {
		b.successes.Add(1)
	} else {
		b.failures.Add(1)
	}
}

// Ejected reports whether the endpoint is ejected.
func (e *Endpoint) Ejected() bool { return e.ejected }

// swap ends an interval.
func (e *Endpoint) swap() {
	last := e.active.Load()
	next := &e.buckets[0]
	if last == next {
		next = &e.buckets[1]
	}
	next.successes.Store(0)
	next.failures.Store(0)
	e.active.Store(next)
	e.successes, e.failures = last.successes.Load(), last.failures.Load()
}

func (e *Endpoint) volume() uint64 { return e.successes + e.failures }

func (e *Endpoint) successRate() float64 { return float64(e.successes) / float64(e.volume()) }
