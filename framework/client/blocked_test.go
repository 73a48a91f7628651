package client

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Watchers that never return cost a bounded number of goroutines. The client logs that once,
// and continues when they return.
func TestBlockedWatchersHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		warnings := 0
		release := make(chan struct{})
		blocks := func(_, _ resource.State) {
			<-release
			told.Add(1)
		}
		scope := &authorityScope{client: &Client{done: make(chan struct{})}}
		w := &callbackPool{start: func(f func()) { go f() }}
		w.full = func() {
			w.mu.Lock() // a handler of the log may subscribe
			defer w.mu.Unlock()
			warnings++
		}
		block := func(n int) {
			for range n {
				w.run(&subscription{
					scope: scope, to: syncWatcher(blocks), state: resource.State{Err: errors.New("x")}, fresh: true, active: true,
				})
			}
			<-time.NewTimer(time.Minute).C
			synctest.Wait()
		}
		running := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.running
		}
		for i, n := range []int{maxBlockedWatchers, 500, 1} {
			block(n)
			if want := min(i, 1); warnings != want {
				t.Errorf("after %d more: %d warnings; want %d", n, warnings, want)
			}
		}
		if got, most := running(), maxBlockedWatchers+runtime.GOMAXPROCS(0); got > most {
			t.Errorf("%d goroutines; want at most %d", got, most)
		}
		for range maxBlockedWatchers + 501 {
			release <- struct{}{}
		}
		synctest.Wait()
		if got := running(); told.Load() != maxBlockedWatchers+501 || got != 0 {
			t.Errorf("%d watchers were notified, and %d goroutines are left; want %d and none", told.Load(), got, maxBlockedWatchers+501)
		}
		block(maxBlockedWatchers + 500)
		if warnings != 2 {
			t.Errorf("%d warnings when they block again; want 2", warnings)
		}
		close(release)
		synctest.Wait()
	})
}
