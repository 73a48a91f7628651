// Package outlier finds the endpoints of a cluster that do worse than the others, so that
// they are not used for a while (gRFC A50, per endpoint as A61 has it). It is a machine
// without a clock: its owner tells it the time and does what it says.
package outlier

import (
	"sync/atomic"
	"time"
)

// An Endpoint counts the calls that go to one endpoint.
type Endpoint struct {
	active  atomic.Pointer[bucket]
	buckets [2]bucket

	ejected   bool
	ejectedAt time.Time
	// multiplier is how often the endpoint was ejected, less what it has redeemed.
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

// Record counts the end of a call. It may be called from any goroutine, and allocates
// nothing.
func (e *Endpoint) Record(success bool) {
	if b := e.active.Load(); success {
		b.successes.Add(1)
	} else {
		b.failures.Add(1)
	}
}

// Ejected reports whether the endpoint is not to be used.
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
