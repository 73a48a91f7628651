package client_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// A storm changes few resources, watches them and ends streams, all at the same time.
type storm struct {
	t       *testing.T
	c       *client.Client
	s       *memoryads.Server
	version atomic.Int64 // of the last change
	wg      sync.WaitGroup
}

const (
	stormThings = 4
	stormSteps  = 300 // of each goroutine
)

func newStorm(t *testing.T, seed int) *storm {
	t.Helper()
	var features []any
	if seed%2 == 1 {
		features = []any{feature.TransportDelta}
	}
	c, s := newThings(t, features...)
	w := &storm{t: t, c: c, s: s}
	steps := []func(*rand.Rand){w.watch, w.watch, w.watch, w.change, w.look}
	if seed%4 >= 2 {
		steps = append(steps, w.disconnect)
	}
	for i, step := range steps {
		random := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		w.wg.Go(func() {
			for range stormSteps {
				step(random)
			}
		})
	}
	return w
}

// pause gives up the processor, or waits for up to d, which happens when all other goroutines wait.
func pause(random *rand.Rand, d time.Duration) {
	if random.IntN(4) == 0 {
		<-time.NewTimer(time.Duration(random.Int64N(int64(d)))).C
		return
	}
	for range random.IntN(4) {
		runtime.Gosched()
	}
}

func (w *storm) change(random *rand.Rand) {
	w.set(random.IntN(stormThings))
	pause(random, time.Millisecond)
}

// set sets a resource to the next version.
func (w *storm) set(n int) {
	w.s.Set(things.URL(), thing(fmt.Sprint(n), strconv.FormatInt(w.version.Add(1), 10)))
}

// look waits for the loop.
func (w *storm) look(random *rand.Rand) {
	if _, err := w.c.Summary(w.t.Context()); err != nil && !errors.Is(err, resource.ErrClosed) {
		w.t.Error(err)
	}
	pause(random, 300*time.Microsecond)
}

func (w *storm) disconnect(random *rand.Rand) {
	pause(random, 40*time.Millisecond)
	w.s.Disconnect(errors.New("a storm"))
}

// watch subscribes to a resource for a moment. Some callbacks use the client, or are slow.
func (w *storm) watch(random *rand.Rand) {
	name, what, slow := fmt.Sprint(random.IntN(stormThings)), random.IntN(20), time.Duration(random.IntN(150))*time.Millisecond
	stops := make(chan func(), 1)
	stop := w.subscribe(name, func(int64) {
		switch what {
		case 0, 1:
			_, _ = w.c.Summary(w.t.Context())
		case 2, 3:
			w.subscribe(name, func(int64) {})()
		case 4, 5:
			stop := <-stops
			stop()
			stops <- stop
		case 6:
			<-time.NewTimer(slow).C
		}
	})
	stops <- stop
	pause(random, time.Millisecond)
	stop()
}

// subscribe calls f with the versions of a resource, and expects them in their order.
func (w *storm) subscribe(name string, f func(version int64)) (stop func()) {
	var last int64
	stop, err := things.Handle().Subscribe(w.c, name, func(ev resource.Event[resource.Update]) {
		u, ok := ev.Update.(*update)
		if !ok {
			return
		}
		version, err := strconv.ParseInt(u.tag, 10, 64)
		if err != nil || version < last {
			w.t.Errorf("%s: version %d after %d, %v", name, version, last, err)
		}
		last = version
		f(version)
	})
	if errors.Is(err, resource.ErrClosed) {
		return func() {}
	}
	if err != nil {
		w.t.Error(err)
	}
	return stop
}

// TestStorm expects every watcher to have the last version of its resource after a storm. A lost event of the loop is
// a deadlock of the bubble, or a watcher with an old version.
func TestStorm(t *testing.T) {
	for seed := range 4 {
		synctest.Test(t, func(t *testing.T) {
			w := newStorm(t, seed)
			var seen [stormThings]atomic.Int64
			for n := range stormThings {
				w.subscribe(fmt.Sprint(n), seen[n].Store)
			}
			w.wg.Wait()
			for n := range stormThings {
				w.set(n)
			}
			pass(time.Minute)
			for n := range stormThings {
				if got, want := seen[n].Load(), w.version.Load()-stormThings+1+int64(n); got != want {
					t.Errorf("seed %d: the watcher of thing %d has version %d; want %d", seed, n, got, want)
				}
			}
		})
	}
}
