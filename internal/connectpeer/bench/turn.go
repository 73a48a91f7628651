package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// A turn is the average cost of a request, with the median of the latencies.
type turn struct{ cpu, latency, allocs float64 }

// A result has our medians, and the medians of the ratios to the plain client's.
type result struct {
	cpu, latency, allocs, plainAllocs float64
	cpuRatio, latencyRatio            float64
}

// allocsTolerance is the share of allocations that other goroutines cause, such as those of the clock.
const allocsTolerance = 0.002

func (r result) kept() bool {
	return r.cpuRatio <= cpuBound && r.latencyRatio <= latencyBound && r.allocs <= r.plainAllocs*(allocsBound+allocsTolerance)
}

// run lets both clients take turns. If a bound is missed, it takes twice as many turns more, and judges all of them: a bound
// is not missed by the noise of a few turns.
func (w *world) run(ctx context.Context, r row, pairs int) (result, error) {
	plain := w.plain(r)
	defer plain.close()
	ours, err := w.ours(r) //nolint:contextcheck // NewTransport has no context
	if err != nil {
		return result{}, err
	}
	defer ours.close()
	var turns [2][]turn
	for i := -1; i < 3*pairs; i++ { // the first time warms up
		if i == pairs && judge(turns).kept() {
			break
		}
		order := []int{0, 1}
		if i%2 == 0 {
			slices.Reverse(order)
		}
		for _, j := range order {
			t, err := []*subject{plain, ours}[j].take(ctx, r)
			if err != nil {
				return result{}, err
			}
			if i >= 0 {
				turns[j] = append(turns[j], t)
			}
		}
	}
	return judge(turns), nil
}

// judge compares the turns of the plain client with ours.
func judge(turns [2][]turn) result {
	figure := func(all []turn, of func(turn) float64) float64 {
		values := make([]float64, len(all))
		for i, t := range all {
			values[i] = of(t)
		}
		return median(values)
	}
	ratio := func(of func(turn) float64) float64 {
		values := make([]float64, len(turns[0]))
		for i := range values {
			values[i] = of(turns[1][i]) / of(turns[0][i])
		}
		return median(values)
	}
	cpu, latency, allocs := func(t turn) float64 { return t.cpu }, func(t turn) float64 { return t.latency }, func(t turn) float64 { return t.allocs }
	return result{
		cpu: figure(turns[1], cpu), latency: figure(turns[1], latency), allocs: figure(turns[1], allocs), plainAllocs: figure(turns[0], allocs),
		cpuRatio: ratio(cpu), latencyRatio: ratio(latency),
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// deadline bounds a turn.
const deadline = time.Minute

// take sends the requests of a turn.
func (s *subject) take(ctx context.Context, r row) (turn, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	latencies := make([]float64, r.requests)
	errs := make([]error, r.parallel)
	var next atomic.Int64
	var wg sync.WaitGroup
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used := process.CPU()
	for i := range r.parallel {
		wg.Go(func() {
			for n := int(next.Add(1)) - 1; n < r.requests && errs[i] == nil; n = int(next.Add(1)) - 1 {
				start := time.Now()
				errs[i] = s.do(ctx)
				latencies[n] = time.Since(start).Seconds()
			}
		})
	}
	wg.Wait()
	used = process.CPU() - used
	runtime.ReadMemStats(&after)
	n := float64(r.requests)
	return turn{cpu: used.Seconds() / n, latency: median(latencies), allocs: float64(after.Mallocs-before.Mallocs) / n}, errors.Join(errs...)
}
