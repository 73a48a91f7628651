// Package serial runs the events of a tree of LB policies one after another.
//
// gRPC, timers and other policies call in from goroutines of their own, and some hold locks. The
// loop queues their events and runs everything of the tree on one goroutine at a time. The tree's policies
// need no locks, so no deadlock with the callers' locks is possible.
package serial

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is the error of [Loop.Ask] after Close.
var ErrClosed = errors.New("the LB tree is closed")

// A Loop is a queue of functions and the goroutine that calls them. An idle loop has no goroutine,
// because a process may have thousands of trees. Its methods are safe for concurrent use, unless
// they say otherwise.
type Loop struct {
	publish func()
	done    chan struct{} // closed when Close has called its function

	mu      sync.Mutex
	queue   []func()
	running bool // there is a goroutine
	closed  bool
}

// New returns an idle loop. The loop calls publish after it has run all posted functions, before it
// waits for more. The tree therefore reports the changes of several functions once.
func New(publish func()) *Loop { return &Loop{publish: publish, done: make(chan struct{})} }

// Post makes the loop call f after all functions that were posted before. It never waits. After
// [Loop.Close] it does nothing.
func (l *Loop) Post(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.add(f)
	}
}

// add queues f, and starts a goroutine if there is none. The caller holds mu.
func (l *Loop) add(f func()) {
	l.queue = append(l.queue, f)
	if !l.running {
		l.running = true
		go l.run()
	}
}

// Do posts f and waits until f and publish have run. It must not be called on the loop.
func (l *Loop) Do(f func()) {
	finished := make(chan struct{})
	l.Post(func() {
		f()
		l.publish()
		close(finished)
	})
	select {
	case <-finished:
	case <-l.done:
	}
}

// Ask posts f, which only reads, and waits until it has run. It returns the error of ctx, or ErrClosed. In both
// cases f may still run later. It must not be called on the loop.
func (l *Loop) Ask(ctx context.Context, f func()) error {
	finished := make(chan struct{})
	l.Post(func() {
		f()
		close(finished)
	})
	select {
	case <-finished:
		return nil
	case <-l.done:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close makes the loop call f after all posted functions, and nothing after that. It waits until f
// has run. It must not be called on the loop, nor twice.
func (l *Loop) Close(f func()) {
	l.mu.Lock()
	l.add(f)
	l.closed = true
	l.mu.Unlock()
	<-l.done
}

// run calls functions until the queue is empty.
func (l *Loop) run() {
	for {
		batch, last := l.take()
		if batch == nil {
			return
		}
		for _, f := range batch {
			f()
		}
		if last {
			close(l.done)
			return
		}
		l.publish()
	}
}

// take takes all functions of the queue. If there are none, the goroutine must end. last says that
// the loop is closed.
func (l *Loop) take() (batch []func(), last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch, l.queue = l.queue, nil
	l.running = batch != nil
	return batch, l.closed
}

// A Timer calls a function on a loop once, after a time. Its methods must be called on the loop.
// The zero value is a timer that is not set.
type Timer struct {
	timer *time.Timer
	// set identifies the current setting. The functions of earlier settings may still be queued.
	set *struct{ _ byte }
}

// Set calls f on the loop after d. It replaces an earlier setting.
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

// Stop cancels the timer.
func (t *Timer) Stop() {
	if t.set != nil {
		t.timer.Stop()
		t.set = nil
	}
}

// Pending reports whether the timer is set and its function was not called yet.
func (t *Timer) Pending() bool { return t.set != nil }
