package client

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGoroutinesLinger expects a pool to reuse idle goroutines, and to end those that stay unused.
func TestGoroutinesLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(goroutinePool)
		expect := func(when string, idle int) {
			t.Helper()
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.idle) != idle || p.armed != (idle > 0) {
				t.Errorf("%s: %d idle goroutines, timer %t; want %d, and a timer if there are some", when, len(p.idle), p.armed, idle)
			}
		}
		run := func(n int) {
			release := make(chan struct{})
			for range n {
				p.start(func() { <-release })
			}
			close(release)
		}
		run(3)
		expect("after three functions", 3)
		<-time.NewTimer(lingerTime / 2).C
		run(2)
		expect("after two more", 3)
		<-time.NewTimer(lingerTime).C
		expect("when one was unused", 2)
		run(1)
		<-time.NewTimer(lingerTime).C
		expect("when another one was unused", 1)
		<-time.NewTimer(lingerTime).C
		expect("when all were unused", 0)
		run(1)
		expect("after another function", 1)
		p.close()
		expect("after close", 0)
	})
}

// TestGoroutineWaitsForTheNextChange expects a client whose resources change some times a second to keep
// its goroutine. Ending it after each change costs more than the change.
func TestGoroutineWaitsForTheNextChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(goroutinePool)
		defer p.close()
		for i := range 50 {
			p.start(func() {})
			<-time.NewTimer(300 * time.Millisecond).C
			synctest.Wait()
			p.mu.Lock()
			idle := len(p.idle)
			p.mu.Unlock()
			if idle != 1 {
				t.Fatalf("%d idle goroutines after %d changes, want 1", idle, i+1)
			}
		}
	})
}

// TestGoroutinesAfterClose expects a closed pool to run functions and to keep no goroutine. A goroutine
// that stayed would be a deadlock of the bubble.
func TestGoroutinesAfterClose(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		p := new(goroutinePool)
		release := make(chan struct{})
		p.start(func() { <-release })
		p.start(func() {})
		synctest.Wait()
		p.close()
		close(release)
		ran := make(chan struct{})
		p.start(func() { close(ran) })
		<-ran
	})
}

// TestGoroutinesRunEveryFunction starts functions that start others, at random times around the end of
// idle goroutines.
func TestGoroutinesRunEveryFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(goroutinePool)
		var ran atomic.Int64
		const chains, length = 8, 500
		for i := range chains {
			var next func(left int)
			next = func(left int) {
				ran.Add(1)
				if left == 0 {
					return
				}
				if left%3 == 0 {
					<-time.NewTimer(lingerTime * time.Duration(left%7) / 3).C
				}
				p.start(func() { next(left - 1) })
			}
			p.start(func() { next(length - 1 + i) })
		}
		<-time.NewTimer(time.Hour).C
		synctest.Wait()
		want := int64(0)
		for i := range chains {
			want += int64(length + i)
		}
		if got := ran.Load(); got != want || len(p.idle) != 0 {
			t.Errorf("%d functions ran, %d goroutines are idle; want %d, and none", got, len(p.idle), want)
		}
	})
}
