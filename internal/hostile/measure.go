package main

import (
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// A meter measures the memory and the processor time of this process.
type meter struct {
	base, baseRSS int64
	began         time.Duration // of processor time

	mu        sync.Mutex
	peak, rss int64
	stop      chan struct{}
	stopped   chan struct{}
}

// sampleEvery is the time between samples of a meter.
const sampleEvery = 5 * time.Millisecond

// memory is the size of heap objects and stacks.
func memory() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() + s[1].Value.Uint64()) //nolint:gosec // memory is less than that
}

// resident is the resident memory of the process; 0 where the system does not tell.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	n, err := process.Resident(b)
	if err != nil {
		return 0
	}
	return n
}

// live is the heap in use after garbage collection. Pools and finalizers need several.
func live() int64 {
	for range 3 {
		runtime.GC()
	}
	return memory()
}

// start notes the state before the attack, and begins to sample.
func (m *meter) start() {
	m.base, m.baseRSS = live(), resident()
	m.peak, m.rss = m.base, m.baseRSS
	m.began = process.CPU()
	m.stop, m.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(m.stopped)
		ticks := time.NewTicker(sampleEvery)
		defer ticks.Stop()
		for {
			m.sample()
			select {
			case <-ticks.C:
			case <-m.stop:
				return
			}
		}
	}()
}

func (m *meter) sample() {
	heap, rss := memory(), resident()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peak, m.rss = max(m.peak, heap), max(m.rss, rss)
}

// end stops sampling.
func (m *meter) end() (peak, rss int64, cpu time.Duration) {
	close(m.stop)
	<-m.stopped
	m.sample()
	return m.peak - m.base, m.rss - m.baseRSS, process.CPU() - m.began
}

// kept is the memory in use that was not in use before the attack. The client may release
// memory a little later, so the least of several measurements counts.
func (m *meter) kept() int64 {
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	least := live() - m.base
	for range 20 {
		if least < 1<<20 {
			break
		}
		<-ticks.C
		least = min(least, live()-m.base)
	}
	return least
}
