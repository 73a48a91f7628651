// Package serial runs what happens to a tree of LB policies one after another.
//
// gRPC, the timers and the policies of others call in from goroutines of their own, some of
// them while they hold locks. Whatever they say is queued here, and everything that the
// tree does happens on one goroutine: its policies need no locks, and no lock of theirs can
// be waited for by somebody who holds another.
package serial

import (
	"sync"
	"time"
)

// A Loop is such a goroutine. Its methods may be called from any goroutine, unless they say
// otherwise.
type Loop struct {
	settled func()
	done    chan struct{}

	mu     sync.Mutex
	wake   sync.Cond
	queue  []func()
	closed bool
}

// New starts a loop. It calls settled whenever it has done all that was posted, and before
// it waits for more: what many functions changed is told to others once.
func New(settled func()) *Loop {
	l := &Loop{settled: settled, done: make(chan struct{})}
	l.wake.L = &l.mu
	go l.run()
	return l
}

// Post has the loop call f, after all that was posted before. It never waits. After
// [Loop.Close] it does nothing.
func (l *Loop) Post(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.queue = append(l.queue, f)
	l.wake.Signal()
}

// Do posts f and waits until it is done and settled. It must not be called on the loop.
func (l *Loop) Do(f func()) {
	finished := make(chan struct{})
	l.Post(func() {
		f()
		l.settled()
		close(finished)
	})
	select {
	case <-finished:
	case <-l.done:
	}
}

// Close has the loop call f after all that was posted, and nothing after that, and waits
// until it is done. It must not be called on the loop, nor twice.
func (l *Loop) Close(f func()) {
	l.mu.Lock()
	l.queue = append(l.queue, f)
	l.closed = true
	l.wake.Signal()
	l.mu.Unlock()
	<-l.done
}

func (l *Loop) run() {
	defer close(l.done)
	for {
		batch, last := l.take()
		for _, f := range batch {
			f()
		}
		if last {
			return
		}
		l.settled()
	}
}

// take waits until something is queued, and takes all of it. last says that no more will
// come.
func (l *Loop) take() (batch []func(), last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 {
		l.wake.Wait()
	}
	batch, l.queue = l.queue, nil
	return batch, l.closed
}

// A Timer calls a function on a loop, once, when its time has come. It belongs to the loop:
// its methods are to be called there. The zero value is a timer that is not set.
type Timer struct {
	timer *time.Timer
	// set tells the setting that counts from those before, whose function may be queued.
	set *struct{ _ byte }
}

// Set has f called on the loop after d, instead of what was set before.
func (t *Timer) Set(l *Loop, d time.Duration, f func()) {
	t.Stop()
	set := new(struct{ _ byte })
	t.set = set
	t.timer = time.AfterFunc(d, func() {
		l.Post(func() {
			if t.set != set {
				return
			}
			t.set = nil
			f()
		})
	})
}

// Stop has nothing called.
func (t *Timer) Stop() {
	if t.set != nil {
		t.timer.Stop()
		t.set = nil
	}
}

// Pending reports whether the timer is set, and its function was not called yet.
func (t *Timer) Pending() bool { return t.set != nil }
