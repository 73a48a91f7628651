package client

import (
	"sync"
	"time"
)

// A work tracks the watchers that one response concerns. The stream is read again when all of them
// are done, or when the budget is over. A watcher that exceeds the budget is not waited for again
// until it is done.
type work struct {
	client *Client
	resume func()

	mu      sync.Mutex
	pending int
	over    bool
	timer   *time.Timer
}

// newWork counts one worker: the loop itself.
func newWork(c *Client, resume func()) *work { return &work{client: c, resume: resume, pending: 1} }

// add counts a watcher. Loop only, before the loop is done.
func (w *work) add() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending++
}

// done records that a watcher is done.
func (w *work) done() {
	w.mu.Lock()
	w.pending--
	finish := w.pending == 0 && !w.over
	w.over = w.over || finish
	if finish && w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	if finish {
		w.resume()
	}
}

// handed records that the loop is done, and starts the watchers' budget.
func (w *work) handed() {
	w.mu.Lock()
	if w.pending > 1 && w.client.budget > 0 {
		w.timer = time.AfterFunc(w.client.budget, w.expire)
	}
	w.mu.Unlock()
	if w.client.budget <= 0 {
		w.expire()
	}
	w.done()
}

func (w *work) expire() {
	w.mu.Lock()
	over := w.over
	w.over = true
	slow := w.pending
	w.mu.Unlock()
	if over {
		return
	}
	if w.client.budget > 0 {
		w.client.slow.Add(uint64(slow)) //nolint:gosec // a count
	}
	w.resume()
}
