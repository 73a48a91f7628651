package client

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// newLoopClient returns a client with one server and without subscriptions.
func newLoopClient(t *testing.T) *Client {
	t.Helper()
	config, err := bootstrap.New(bootstrap.Spec{
		Servers: []bootstrap.ServerSpec{{URI: "memory:1", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := resource.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(config, set, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// idle reports whether the loop has no goroutine.
func (l *loop) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.running
}

// TestEveryEventIsHandled posts events from several goroutines, which wait for them or lend themselves at
// random. A lost event is a deadlock of the bubble. Two goroutines of the loop at a time are a data race.
func TestEveryEventIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLoopClient(t)
		const posters, each = 8, 2000
		handled := 0
		var wg sync.WaitGroup
		for i := range posters {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			wg.Go(func() {
				for range each {
					done := make(chan struct{})
					add := c.loop.post
					if random.IntN(2) == 0 {
						add = c.loop.lend
					}
					add(func() {
						handled++
						close(done)
					})
					if random.IntN(2) == 0 {
						<-done
					}
				}
			})
		}
		wg.Wait()
		c.Drain()
		synctest.Wait()
		if handled != posters*each || !c.loop.idle() {
			t.Errorf("%d of %d events were handled, idle %t; want all, and an idle loop", handled, posters*each, c.loop.idle())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestALentGoroutineRunsOneIteration expects an idle loop to use the goroutine of the caller, and another one
// for the events that come meanwhile.
func TestALentGoroutineRunsOneIteration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLoopClient(t)
		var got []string
		release := make(chan struct{})
		c.loop.lend(func() {
			got = append(got, "lent")
			c.loop.post(func() {
				<-release
				got = append(got, "posted")
			})
			c.loop.lend(func() { got = append(got, "lent by the loop") })
		})
		if len(got) != 1 || c.loop.idle() {
			t.Errorf("the lent goroutine handled %q, idle %t; want the first event only, and a goroutine for the others", got, c.loop.idle())
		}
		close(release)
		synctest.Wait()
		if want := []string{"lent", "posted", "lent by the loop"}; !slices.Equal(got, want) || !c.loop.idle() {
			t.Errorf("handled %q, idle %t; want %q, and an idle loop", got, c.loop.idle(), want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		c.loop.lend(func() { t.Error("an event was handled after Close") })
	})
}

// TestCloseDuringALentIteration expects Close to wait for the iteration of a lent goroutine, whether or not further
// events wait. Without a goroutine that ends the loop, Close is a deadlock of the bubble.
func TestCloseDuringALentIteration(t *testing.T) {
	for waiting := range 2 {
		synctest.Test(t, func(t *testing.T) {
			c := newLoopClient(t)
			began, release := time.Now(), make(chan struct{})
			go c.loop.lend(func() { <-release })
			synctest.Wait()
			for range waiting {
				c.loop.post(func() { t.Error("an event was handled after Close") })
			}
			time.AfterFunc(time.Minute, func() { close(release) })
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != time.Minute {
				t.Errorf("%d events wait: Close took %v; want 1m0s, the time of the iteration", waiting, took)
			}
		})
	}
}

// TestEventsAreHandledInOrder posts events on the loop and beside it.
func TestEventsAreHandledInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLoopClient(t)
		var got []int
		c.loop.post(func() {
			for i := range 3 {
				c.loop.post(func() { got = append(got, 1+i) })
			}
			got = append(got, 0)
		})
		synctest.Wait()
		c.loop.post(func() { got = append(got, 4) })
		c.Drain()
		for i, n := range got {
			if n != i || len(got) != 5 {
				t.Fatalf("the order is %v, want 0 to 4", got)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCloseDuringAnIteration expects Close to wait for the iteration, and the loop to handle no later
// event.
func TestCloseDuringAnIteration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLoopClient(t)
		release := make(chan struct{})
		c.loop.post(func() { <-release })
		synctest.Wait()
		c.loop.post(func() { t.Error("an event was handled after Close") })
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close did not wait for the iteration")
		default:
		}
		close(release)
		<-closed
		c.loop.post(func() { t.Error("an event was handled after Close") })
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Errorf("the second Close: %v", err)
		}
	})
}

// TestDeadlineOfAnIdleLoop expects an idle loop to run an iteration at the deadline of a log line, and no
// later one.
func TestDeadlineOfAnIdleLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLoopClient(t)
		began := time.Now()
		log := &nackLog{typ: &resource.Descriptor{Name: "test.Thing"}, due: began.Add(time.Minute)}
		c.loop.post(func() { c.loop.sessions[0].nackLogs = append(c.loop.sessions[0].nackLogs, log) })
		synctest.Wait()
		if !c.loop.idle() {
			t.Error("the loop has a goroutine while it waits for a deadline")
		}
		<-time.NewTimer(time.Hour).C
		synctest.Wait()
		if at := c.loop.now.Sub(began); !log.due.IsZero() || at != time.Minute {
			t.Errorf("the last iteration was after %v, due %v; want 1m0s, and no deadline", at, log.due)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDeadlineDuringAnIteration lets the timer expire while the loop is busy. The loop must run another
// iteration, which sees that the deadline is over.
func TestDeadlineDuringAnIteration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLoopClient(t)
		log := &nackLog{typ: &resource.Descriptor{Name: "test.Thing"}, due: time.Now().Add(time.Minute)}
		c.loop.post(func() { c.loop.sessions[0].nackLogs = append(c.loop.sessions[0].nackLogs, log) })
		synctest.Wait()
		c.loop.post(func() { <-time.NewTimer(2 * time.Minute).C }) // it began before the deadline
		<-time.NewTimer(3 * time.Minute).C
		synctest.Wait()
		if !log.due.IsZero() || !c.loop.idle() {
			t.Errorf("due %v, idle %t; want no deadline, and an idle loop", log.due, c.loop.idle())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestTimerDuringAnIteration lets the timer expire while the loop is busy, and no deadline sets it again. The
// loop must run another iteration: the machines have seen the time of the first one only.
func TestTimerDuringAnIteration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLoopClient(t)
		began := time.Now()
		c.loop.post(func() {
			c.loop.timer.Reset(time.Minute)
			<-time.NewTimer(2 * time.Minute).C
		})
		<-time.NewTimer(time.Hour).C
		synctest.Wait()
		if at := c.loop.now.Sub(began); at != 2*time.Minute || !c.loop.idle() {
			t.Errorf("the last iteration was after %v, idle %t; want 2m0s, and an idle loop", at, c.loop.idle())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestTimerDuringClose lets the timer expire while Close waits for an iteration. The loop must end without
// another iteration, and leave no timer.
func TestTimerDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLoopClient(t)
		began := time.Now()
		log := &nackLog{typ: &resource.Descriptor{Name: "test.Thing"}, due: began.Add(time.Hour)}
		c.loop.post(func() {
			c.loop.sessions[0].nackLogs = append(c.loop.sessions[0].nackLogs, log)
			c.loop.timer.Reset(time.Minute)
			<-time.NewTimer(2 * time.Minute).C
		})
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if took, at := time.Since(began), c.loop.now.Sub(began); took != 2*time.Minute || at != 0 {
			t.Errorf("Close took %v, and the last iteration was after %v; want 2m0s, and none after the first", took, at)
		}
		if c.loop.timer.Stop() {
			t.Error("the timer of a closed loop is set")
		}
	})
}
