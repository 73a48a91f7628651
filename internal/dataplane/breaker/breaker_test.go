package breaker_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
)

func TestSharedByClusterAndService(t *testing.T) {
	var s breaker.Set
	a, again, other := s.Acquire("a", "x"), s.Acquire("a", "x"), s.Acquire("a", "y")
	if a != again || a == other {
		t.Fatal("counters must be one for a cluster and its EDS resource")
	}
	if !a.Start(1) || again.Start(1) || !other.Start(1) {
		t.Error("one call of each must be possible")
	}
	a.End()
	if !again.Start(1) {
		t.Error("a call that ended still counts")
	}
	a.Release()
	if s.Acquire("a", "x") != again {
		t.Error("a counter that is in use was replaced")
	}
	again.Release()
	again.Release()
	if s.Acquire("a", "x") == again {
		t.Error("an unused counter was kept")
	}
}

func TestLimit(t *testing.T) {
	var s breaker.Set
	c := s.Acquire("a", "")
	var wg sync.WaitGroup
	var now, most atomic.Int64
	for range 8 {
		wg.Go(func() {
			for range 10000 {
				if !c.Start(3) {
					continue
				}
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				now.Add(-1)
				c.End()
			}
		})
	}
	wg.Wait()
	if most.Load() > 3 {
		t.Errorf("%d calls were in flight, of 3", most.Load())
	}
	if !c.Start(1) {
		t.Error("calls that ended still count")
	}
}

func TestInFlight(t *testing.T) {
	c := new(breaker.Set).Acquire("a", "")
	for range 3 {
		c.Start(2)
	}
	if c.InFlight() != 2 {
		t.Errorf("%d calls are in flight, want 2", c.InFlight())
	}
	c.End()
	if c.InFlight() != 1 {
		t.Errorf("%d calls are in flight after one has ended, want 1", c.InFlight())
	}
}
