package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/xdsforge/xdsforge/internal/netproxy"
	"github.com/xdsforge/xdsforge/internal/process"
)

// A sample is a measurement at a rest.
type sample struct {
	at         time.Duration
	goroutines int
	heap       uint64 // bytes in use after a collection
	changes    int
	disturbed  int
	streams    int
	bytes      int64         // from the control planes
	settled    time.Duration // until everything was there
}

// String is one line of the report.
func (s sample) String() string {
	return fmt.Sprintf("%6s  goroutines %4d  heap %5.1f MB  changes %8d  disconnections %4d  streams %5d  received %7.1f MB  at rest after %v",
		s.at.Round(time.Second), s.goroutines, float64(s.heap)/1e6, s.changes, s.disturbed, s.streams, float64(s.bytes)/1e6, s.settled.Round(time.Millisecond))
}

// rest waits until every watcher and the cache have the newest version of everything,
// and measures.
func (w *world) rest(ctx context.Context, patience time.Duration) (sample, error) {
	w.heal()
	began := time.Now()
	if err := w.settle(ctx, patience); err != nil {
		return sample{}, err
	}
	s := sample{
		at: time.Since(w.began), changes: w.changes, disturbed: w.disturbed, settled: time.Since(began),
	}
	m := process.Memory()
	s.goroutines, s.heap = runtime.NumGoroutine(), m.HeapAlloc
	for i := range w.servers {
		s.streams += w.servers[i].Streams()
		s.bytes += w.proxies[i].Bytes(netproxy.Down)
	}
	return s, nil
}

// settle looks every few milliseconds whether nothing is lost.
func (w *world) settle(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	missing := w.items
	for {
		var errs []error
		var still []*item
		for _, it := range missing {
			if err := it.lost(w.client); err != nil {
				still, errs = append(still, it), append(errs, err)
			}
		}
		if len(still) == 0 && len(missing) == len(w.items) {
			return nil // all were right at one time
		}
		if missing = still; len(still) == 0 {
			missing = w.items
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d updates lost after %v at rest: %w", len(still), len(w.items), patience, errors.Join(errs[:min(len(errs), 5)]...))
		}
	}
}

// The allowed growth between the warm-up and the end. Connections come and go, each with a
// few goroutines. A leak of one goroutine per disconnection, or of one update in a
// thousand, is far larger.
const (
	moreGoroutines = 20
	moreHeap       = 1.15
	heapSlack      = 4 << 20
)

// growth compares the first rests after the warm-up with the last ones.
func growth(samples []sample) error {
	if len(samples) < 5 {
		return nil // too short a run to tell
	}
	n := max(1, len(samples)/4)
	first, last := average(samples[1:1+n]), average(samples[len(samples)-n:])
	if last.goroutines > first.goroutines+moreGoroutines {
		return fmt.Errorf("goroutines grew from %d to %d", first.goroutines, last.goroutines)
	}
	if float64(last.heap) > float64(first.heap)*moreHeap+heapSlack {
		return fmt.Errorf("heap grew from %.1f MB to %.1f MB", float64(first.heap)/1e6, float64(last.heap)/1e6)
	}
	return nil
}

func average(samples []sample) (s sample) {
	for _, one := range samples {
		s.goroutines += one.goroutines
		s.heap += one.heap
	}
	s.goroutines /= len(samples)
	s.heap /= uint64(len(samples))
	return s
}
