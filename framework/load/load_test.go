package load_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/framework/load"
)

// sums adds up the counters of reports.
type sums struct{ issued, succeeded, failed, dropped, throttled, metrics, total uint64 }

func (s *sums) add(stats []*endpointv3.ClusterStats) {
	for _, c := range stats {
		s.dropped += c.GetTotalDroppedRequests()
		for _, d := range c.GetDroppedRequests() {
			s.throttled += d.GetDroppedCount()
		}
		for _, l := range c.GetUpstreamLocalityStats() {
			s.issued += l.GetTotalIssuedRequests()
			s.succeeded += l.GetTotalSuccessfulRequests()
			s.failed += l.GetTotalErrorRequests()
			for _, m := range l.GetLoadMetricStats() {
				s.metrics += m.GetNumRequestsFinishedWithMetric()
				s.total += uint64(m.GetTotalMetricValue())
			}
		}
	}
}

// Goroutines count calls and create and release handles while another one creates reports, some of
// which fail. The sum of the reports must equal the count.
func TestNothingIsLostOrCountedTwice(t *testing.T) {
	const workers, rounds = 4, 300
	s := load.NewStore(nil)
	var want sums
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			own := work(s, uint64(w), rounds)
			mu.Lock()
			defer mu.Unlock()
			want.issued += own.issued
			want.succeeded += own.succeeded
			want.failed += own.failed
			want.dropped += own.dropped
			want.throttled += own.throttled
			want.metrics += own.metrics
			want.total += own.total
		})
	}
	var done atomic.Bool
	go func() { wg.Wait(); done.Store(true) }()
	var got sums
	for i := 0; !done.Load() || !s.Empty(); i++ { // in this order: load may come after the store was empty
		if delta := s.Delta(load.ClusterFilter{All: true}, time.Now()); i%3 > 0 {
			got.add(delta.Stats)
			delta.Commit()
		}
		runtime.Gosched()
	}
	if got != want {
		t.Errorf("reported %+v\n counted %+v", got, want)
	}
}

// work simulates random calls and returns their number.
func work(s *load.Store, seed uint64, rounds int) (n sums) {
	random := rand.New(rand.NewPCG(seed, 1))
	var inProgress []func()
	for range rounds {
		c := s.Cluster(fmt.Sprint(random.IntN(3)), "")
		p := load.Propagation{AllNamed: random.IntN(2) == 0}
		l := c.Locality(load.LocalityID{Zone: fmt.Sprint(random.IntN(3))}, p)
		for range random.IntN(20) {
			l.CallStarted()
			n.issued++
			switch random.IntN(4) {
			case 0:
				c.Drop("throttle")
				n.throttled++
				n.dropped++
			case 1:
				c.Drop("")
				n.dropped++
			}
			inProgress = append(inProgress, func() {
				if random.IntN(2) == 0 {
					l.CallFinished(errors.New("connection refused"), nil)
					n.failed++
					return
				}
				l.CallFinished(nil, &load.Metrics{Named: map[string]float64{"m": 3}})
				n.succeeded++
				if p.AllNamed {
					n.metrics++
					n.total += 3
				}
			})
		}
		if random.IntN(10) == 0 {
			inProgress = finish(inProgress)
		}
		l.Release()
		c.Release()
	}
	finish(inProgress)
	return n
}

// finish ends calls, some of them after the release of their handles.
func finish(calls []func()) []func() {
	for _, f := range calls {
		f()
	}
	return nil
}

func TestCountingAllocatesNothing(t *testing.T) {
	s := load.NewStore(nil)
	c := s.Cluster("c", "")
	l := c.Locality(load.LocalityID{}, load.Propagation{CPU: true, AllNamed: true})
	named := map[string]float64{"a": 1, "b": 2}
	if n := testing.AllocsPerRun(1000, func() {
		l.CallStarted()
		l.CallFinished(nil, &load.Metrics{CPU: 0.5, Named: named})
		c.Drop("throttle")
	}); n >= 1 {
		t.Errorf("%v allocations for a call; must be none", n)
	}
}
