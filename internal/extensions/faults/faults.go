// Package faults decides which requests get a fault of a configuration (gRFC A33). Filters of gRPC calls and of HTTP requests
// share it.
package faults

import (
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// Faults draws faults and counts those that are active. It is safe for concurrent use.
type Faults struct {
	Random func(n uint32) uint32 // returns a random number below n
	active atomic.Int64
}

// Begin counts another active fault, which [Faults.End] ends. It returns false if the limit is reached. A nil limit is none.
func (f *Faults) Begin(limit *uint32) bool {
	if n := f.active.Add(1); limit == nil || n <= int64(*limit) {
		return true
	}
	f.active.Add(-1)
	return false
}

// End ends a fault for which [Faults.Begin] returned true.
func (f *Faults) End() { f.active.Add(-1) }

// Delay draws the delay of a request. It returns 0 for none, as for a nil d. The request has the values in the headers
// x-envoy-fault-delay-request and x-envoy-fault-delay-request-percentage.
func (f *Faults) Delay(d *fault.Delay, values, percentages []string) time.Duration {
	if d == nil {
		return 0
	}
	wait, share := d.Duration, d.PerMillion
	if d.FromHeaders {
		ms, ok := Number(values)
		if !ok {
			return 0
		}
		wait, share = time.Duration(ms)*time.Millisecond, Lower(percentages, d.Unit, share)
	}
	if !f.Chosen(share) {
		return 0
	}
	return wait
}

// Chosen returns true with a probability of share in a million.
func (f *Faults) Chosen(share uint32) bool { return share > 0 && f.Random(1_000_000) < share }
