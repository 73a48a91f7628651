package client

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestWorkersRelieveBlockedOnes expects more workers at every second look while all of them are
// blocked: as many as were added before. The look in between finds that the added ones started.
func TestWorkersRelieveBlockedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &callbackPool{start: func(f func()) { go f() }, full: func() { t.Error("the limit was reached") }}
		release := make(chan struct{})
		scope := &authorityScope{client: &Client{done: make(chan struct{})}}
		run := func(n int) {
			for range n {
				w.run(&subscription{
					scope: scope, to: syncWatcher(func(_, _ resource.State) { <-release }),
					state: resource.State{Err: errors.New("x")}, fresh: true, active: true,
				})
			}
		}
		const waiting = 7
		processors := runtime.GOMAXPROCS(0)
		run(processors + waiting)
		expect := func(when string, running, queued int) {
			t.Helper()
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.running != running || len(w.queue) != queued {
				t.Errorf("%s: %d workers and %d waiting watchers, want %d and %d", when, w.running, len(w.queue), running, queued)
			}
		}
		expect("at once", processors, waiting)
		<-time.NewTimer(stuckAfter / 2).C
		for i, spare := range []int{0, 1, 2, 4, 7} {
			expect("after "+(time.Duration(2*i)*stuckAfter).String(), processors+spare, waiting-spare)
			<-time.NewTimer(2 * stuckAfter).C
		}
		w.mu.Lock()
		armed := w.armed
		w.mu.Unlock()
		if armed {
			t.Error("a timer runs while no watcher waits")
		}

		release <- struct{}{} // one worker ends
		expect("when one has returned", processors+waiting-1, 0)
		run(1)
		expect("one more", processors+waiting, 0)
		run(1)
		expect("another one", processors+waiting, 1)
		close(release)
		expect("when all have returned", 0, 0)
		w.mu.Lock()
		spare := w.spare
		w.mu.Unlock()
		if spare != 0 {
			t.Errorf("%d of no workers count as stuck", spare)
		}
	})
}

// TestWorkersThatReturn expects no more workers if a watcher has returned since the last look.
func TestWorkersThatReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &callbackPool{queue: make([]*subscription, 2), running: 1, started: 3, armed: true}
		expect := func(when string, armed bool) {
			t.Helper()
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.running != 1 || w.armed != armed {
				t.Errorf("%s: %d workers, armed %t; want one worker, armed %t", when, w.running, w.armed, armed)
			}
			w.queue = nil
		}
		if w.relieve(2) {
			t.Error("the limit was reached")
		}
		expect("after a look", true)
		<-time.NewTimer(2 * stuckAfter).C
		synctest.Wait()
		expect("without a queue", false)
	})
}

// TestWork expects a stream to go on when all watchers are done, or when the budget is over.
func TestWork(t *testing.T) {
	for name, tt := range map[string]struct {
		budget  time.Duration
		ready   int // watchers that are done at once, of 3
		resumed time.Duration
		slow    uint64
	}{
		"all in time":      {time.Second, 3, 0, 0},
		"two in time":      {time.Second, 2, time.Second, 1},
		"none in time":     {time.Second, 0, time.Second, 3},
		"without a budget": {0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, resumed := time.Now(), make(chan time.Duration, 9)
				c := &Client{budget: tt.budget}
				w := newDelivery(c, func() { resumed <- time.Since(began) })
				for range 3 {
					w.add()
				}
				w.handed()
				for range tt.ready {
					w.done()
				}
				<-time.NewTimer(time.Minute).C
				for range 3 - tt.ready {
					w.done()
				}
				synctest.Wait()
				if len(resumed) != 1 {
					t.Fatalf("the stream went on %d times, want once", len(resumed))
				}
				if after := <-resumed; after != tt.resumed || c.slow.Load() != tt.slow {
					t.Errorf("the stream went on after %v, with %d slow watchers; want %v and %d", after, c.slow.Load(), tt.resumed, tt.slow)
				}
			})
		})
	}
}
