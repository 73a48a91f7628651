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

// BenchmarkCounting compares each operation with adding to one shared atomic, in the same run, with
// 1 to GOMAXPROCS goroutines. The result x/atomic is the ratio of the times.
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

// batch is the number of operations of each goroutine before the benchmark switches to the other
// operation. So other work on the machine slows both alike.
const batch = 10_000

// inParallel returns the time that n goroutines take for an operation, each doing one batch.
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
