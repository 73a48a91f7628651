package serial_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrder(t *testing.T) {
	var got []int
	l := serial.New(func() {})
	for i := range 100 {
		l.Post(func() { got = append(got, i) })
	}
	l.Post(func() {
		l.Post(func() { got = append(got, 101) }) // functions that were posted on the loop wait too
		got = append(got, 100)
	})
	l.Do(func() {})
	l.Close(func() { got = append(got, 102) })
	if !slices.IsSorted(got) || len(got) != 103 {
		t.Errorf("the order is %v; must be 0 to 102", got)
	}
	l.Post(func() { t.Error("something was called after Close") })
	l.Do(func() { t.Error("something was called after Close") })
}

func TestNothingIsConcurrent(t *testing.T) {
	var count, settled int
	l := serial.New(func() { settled = count })
	defer l.Close(func() {})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				l.Post(func() { count++ })
			}
		})
	}
	wg.Wait()
	l.Do(func() { count++ })
	l.Do(func() {
		if count != 8001 || settled != count {
			t.Errorf("count = %d, when settled %d; must be 8001", count, settled)
		}
	})
}

func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serial.New(func() {})
		defer l.Close(func() {})
		var timer serial.Timer
		var called []string
		set := func(d time.Duration, name string) {
			l.Do(func() { timer.Set(l, d, func() { called = append(called, name) }) })
		}
		check := func(when string, pending bool, want ...string) {
			t.Helper()
			l.Do(func() {
				if timer.Pending() != pending || !slices.Equal(called, want) {
					t.Errorf("%s: pending %t, called %q; must be %t, %q", when, timer.Pending(), called, pending, want)
				}
			})
		}

		set(time.Second, "first")
		set(3*time.Second, "second")
		<-time.NewTimer(2 * time.Second).C
		check("after 2 s", true)
		<-time.NewTimer(2 * time.Second).C
		check("after 4 s", false, "second")

		// Stop also cancels a function that is already queued.
		set(time.Second, "third")
		release := make(chan struct{})
		l.Post(func() { <-release; timer.Stop() })
		<-time.NewTimer(2 * time.Second).C
		close(release)
		check("after Stop", false, "second")
	})
}

// TestIdleLoopsHaveNoGoroutine leaves a loop open. A goroutine that waited would be a deadlock of the
// bubble.
func TestIdleLoopsHaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called int
		l := serial.New(func() { called++ })
		for range 3 {
			l.Do(func() {})
			synctest.Wait()
		}
		if called != 6 { // Do publishes, and the loop after it
			t.Errorf("publish was called %d times, want 6", called)
		}
	})
}

// TestAsk waits for functions that run, that never run, and that run too late.
func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serial.New(func() {})
		ran := 0
		if err := l.Ask(t.Context(), func() { ran++ }); err != nil || ran != 1 {
			t.Errorf("the function ran %d times, %v; want once", ran, err)
		}
		release, late := make(chan struct{}), errors.New("late")
		l.Post(func() { <-release })
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, late)
		defer cancel()
		if err := l.Ask(ctx, func() { ran++ }); !errors.Is(err, late) || ran != 1 {
			t.Errorf("a loop that is busy gives the error %v after %d functions, want %v after 1", err, ran, late)
		}
		close(release)
		l.Close(func() {})
		if ran != 2 {
			t.Errorf("%d functions ran, want also the one that nobody waited for", ran)
		}
		if err := l.Ask(t.Context(), func() { ran++ }); !errors.Is(err, serial.ErrClosed) || ran != 2 {
			t.Errorf("a closed loop gives the error %v, want %v", err, serial.ErrClosed)
		}
	})
}
