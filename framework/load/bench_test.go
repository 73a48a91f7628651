package load_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/load"
)

// BenchmarkCounting compares each operation, by 1 to GOMAXPROCS goroutines, with adding to
// one atomic that all of them share, in the same run: x/atomic is how many times as long it
// takes.
func BenchmarkCounting(b *testing.B) {
	s := load.NewStore(nil)
	c := s.Cluster("c", "")
	plain := c.Locality(load.LocalityID{}, load.Propagation{})
	full := c.Locality(load.LocalityID{}, load.Propagation{CPU: true, AllNamed: true})
	metrics := &load.Metrics{CPU: 0.5, Named: map[string]float64{"queue": 3}}
	var bare atomic.Uint64
	for n := 1; n <= runtime.GOMAXPROCS(0); n *= 2 {
		for _, op := range []struct {
			name string
			f    func()
		}{
			{"CallStarted", plain.CallStarted},
			{"CallFinished", func() { plain.CallFinished(nil, nil) }},
			{"CallFinishedWithMetrics", func() { full.CallFinished(nil, metrics) }},
			{"Drop", func() { c.Drop("throttle") }},
		} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", op.name, n), func(b *testing.B) {
				var base, took time.Duration
				for b.Loop() {
					base += inParallel(n, func() { bare.Add(1) })
					took += inParallel(n, op.f)
				}
				b.ReportMetric(float64(took)/float64(base), "x/atomic")
				b.ReportMetric(float64(took)/float64(b.N)/batch, "ns/call")
				b.ReportMetric(testing.AllocsPerRun(batch, op.f), "allocs/call")
			})
		}
	}
}

// batch is how often each goroutine does what is measured before the two change places:
// whatever else the machine does then slows both.
const batch = 10_000

// inParallel is how long it takes n goroutines to do something, each a batch of times.
func inParallel(n int, f func()) time.Duration {
	began := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range batch {
				f()
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}
