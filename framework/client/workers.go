package client

import (
	"runtime"
	"sync"
	"time"
)

// stuckAfter is the time after which more workers are started if all of them are inside watchers'
// code and other watchers wait.
const stuckAfter = 10 * time.Millisecond

// maxBlockedWatchers is the limit of callbacks that may block before other watchers have to wait
// for one of them to return.
const maxBlockedWatchers = 10_000

// workers run the callbacks of subscriptions. While there are callbacks to run, there are as many
// goroutines as processors, and otherwise none. If watchers block, further goroutines take over the
// waiting callbacks. A watcher that never returns thus costs only itself and one goroutine, for up
// to 10,000 watchers.
type workers struct {
	full func() // called when the limit is reached, without w.mu: it may log

	mu      sync.Mutex
	queue   []*subscription
	running int
	spare   int  // how many of the running ones may be stuck
	started int  // subscriptions taken from the queue so far
	armed   bool // the timer that looks for stuck workers runs
	warned  bool // full was called since the queue was empty last
}

// run lets a worker deliver the state in the subscription's mailbox.
func (w *workers) run(s *subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, s)
	if w.running-w.spare < runtime.GOMAXPROCS(0) {
		w.running++
		go w.work()
		return
	}
	w.arm()
}

func (w *workers) work() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.running--
			w.spare = min(w.spare, w.running)
			w.warned = false
			w.mu.Unlock()
			return
		}
		s := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		if len(w.queue) == 0 {
			w.queue = nil
		}
		w.started++
		w.mu.Unlock()
		s.deliver()
	}
}

// arm starts the timer that looks for stuck workers. w.mu is held.
func (w *workers) arm() {
	if w.armed {
		return
	}
	w.armed = true
	started := w.started
	time.AfterFunc(stuckAfter, func() {
		if w.relieve(started) {
			w.full()
		}
	})
}

// relieve starts more workers if no worker has returned since the given number of subscriptions
// were started. It reports whether the limit was newly reached.
func (w *workers) relieve(started int) (full bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	if len(w.queue) == 0 {
		return false
	}
	if w.started == started {
		// Twice as many each time, to get past a thousand blocked watchers quickly.
		more := min(max(1, w.spare), len(w.queue), maxBlockedWatchers-w.spare)
		if more == 0 { // the worker of the next callback that returns goes on with the queue
			full = !w.warned
			w.warned = true
			return full
		}
		w.spare += more
		w.running += more
		for range more {
			go w.work()
		}
	}
	w.arm()
	return false
}
