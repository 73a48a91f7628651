package client

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A subscription is one watcher of one resource. Its mailbox holds one state, the newest. A client has
// one for each watcher, so it is small.
type subscription struct {
	scope  *authorityScope
	record authority.Handle // set before the subscription begins; then loop only

	to any // a syncWatcher, an asyncWatcher, or, for Observe, a signal

	mu       sync.Mutex
	state    resource.State
	last     *resource.State // the state before, if the watcher has seen it and not the newest; nil: the zero state
	since    int64           // since when state has been fresh, in nanoseconds of Unix time
	delivery *delivery       // that waits for the watcher
	holds    int32           // calls of an asyncWatcher that are not done
	fresh    bool            // state has not been taken yet
	active   bool            // a worker has, or will have, this subscription
	closed   bool
}

// The receivers of a subscription's states.
type (
	syncWatcher  func(next, last resource.State)
	asyncWatcher func(next, last resource.State, done func())
	signal       chan struct{} // has a token when the state is fresh
)

// Notify implements authority.Watcher. The loop calls it.
func (s *subscription) Notify(st resource.State) {
	if spans := s.scope.client.spans; spans != nil {
		spans.deliver(s, st)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	if !s.fresh {
		s.since = s.scope.client.loop.now.UnixNano()
		s.keep()
	}
	s.state, s.fresh = st, true
	if d := s.scope.client.loop.delivery; d != nil && s.delivery == nil {
		d.add()
		s.delivery = d
	}
	ready, observed := s.to.(signal)
	start := !observed && !s.active
	s.active = s.active || start
	s.mu.Unlock()
	if observed {
		ready.send()
	}
	if start {
		s.scope.client.callbacks.run(s)
	}
}

// keep keeps the current state as the last one that the watcher has seen. s.mu is held.
func (s *subscription) keep() {
	if s.state == (resource.State{}) {
		return
	}
	box, ok := s.scope.client.states.Get().(*resource.State)
	if !ok {
		box = new(resource.State)
	}
	*box, s.last = s.state, box
}

// takeLast returns the last state that the watcher has seen, if the current one is fresh. s.mu is
// held.
func (s *subscription) takeLast() (last resource.State) {
	if s.last != nil {
		last = *s.last
		*s.last = resource.State{} // the pool must not keep an update
		s.scope.client.states.Put(s.last)
		s.last = nil
	}
	return last
}

func (ready signal) send() {
	select {
	case ready <- struct{}{}:
	default:
	}
}

// take empties the mailbox. changed is false if the state equals the one taken before, for example if
// an error came and went in between. Then the worker is done.
func (s *subscription) take() (next, last resource.State, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		last = s.takeLast()
		changed = !s.closed && !s.scope.client.closed() && s.state != last
	}
	s.fresh = false
	if !changed {
		s.active = false
		if s.holds == 0 {
			s.finish()
		}
		return next, last, false
	}
	return s.state, last, true
}

// finish records that the subscriber is done with all states. s.mu is held.
func (s *subscription) finish() {
	if s.delivery != nil {
		s.delivery.done()
		s.delivery = nil
	}
}

// hold returns the function that ends a call of async.
func (s *subscription) hold() (done func()) {
	s.mu.Lock()
	s.holds++
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.holds--
		if s.holds == 0 && !s.active {
			s.finish()
		}
	})
}

// behind returns for how long a change has been waiting.
func (s *subscription) behind(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh {
		return 0
	}
	return time.Duration(now.UnixNano() - s.since)
}

func (s *subscription) open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && !s.scope.client.closed()
}

// deliver calls the function until it has received the newest state.
func (s *subscription) deliver() {
	for {
		next, last, changed := s.take()
		if !changed {
			return
		}
		switch to := s.to.(type) {
		case syncWatcher:
			to(next, last)
		case asyncWatcher:
			to(next, last, s.hold())
		}
	}
}

// Next implements resource.Observation.
func (s *subscription) Next(ctx context.Context) (resource.State, error) {
	return await(ctx, s.scope.client, s.to.(signal), s.open, func() (resource.State, bool) {
		next, _, changed := s.take()
		return next, changed
	})
}

// await waits until take returns a state. The channel ready has a token when there may be one.
func await[T any](ctx context.Context, c *Client, ready <-chan struct{}, open func() bool, take func() (T, bool)) (none T, err error) {
	for {
		switch {
		case !open():
			return none, resource.ErrClosed
		case ctx.Err() != nil:
			return none, context.Cause(ctx)
		}
		if s, ok := take(); ok {
			return s, nil
		}
		select {
		case <-ready:
		case <-c.done:
		case <-ctx.Done():
		}
	}
}

// Stop implements resource.Observation and is the cancel of Subscribe. No callback starts after it
// has returned.
func (s *subscription) Stop() {
	s.mu.Lock()
	stopped := s.closed
	s.closed = true
	s.state, s.fresh = resource.State{}, false
	s.takeLast()
	s.finish()
	s.mu.Unlock()
	if stopped {
		return
	}
	if ready, ok := s.to.(signal); ok {
		ready.send()
	}
	l := s.scope.client.loop
	l.post(func() {
		l.client.spans.cancel(s)
		s.scope.machine.Cancel(s.record, s, l.now)
		l.authority(s.scope)
	})
}

// A delivery tracks the watchers that one response concerns. The stream is read again when all of them
// are done, or when the budget is over. A watcher that exceeds the budget is not waited for again
// until it is done.
type delivery struct {
	pending atomic.Int64 // the loop, and the watchers that are not done

	mu     sync.Mutex
	client *Client // nil if the wait is over
	resume func()
	timer  *time.Timer
}

// newDelivery counts the loop itself as a watcher.
func newDelivery(c *Client, resume func()) *delivery {
	d := &delivery{client: c, resume: resume}
	d.add()
	return d
}

// add counts a watcher. Loop only, before the loop is done.
func (d *delivery) add() { d.pending.Add(1) }

// done records that a watcher is done.
func (d *delivery) done() {
	if d.pending.Add(-1) > 0 {
		return
	}
	if c, resume := d.end(); c != nil {
		resume()
	}
}

// end ends the wait for watchers. It returns nil if the wait was already over. Go keeps a stopped timer in memory for a while,
// but this one no longer keeps the client.
func (d *delivery) end() (c *Client, resume func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, resume = d.client, d.resume
	d.client, d.resume = nil, nil
	if d.timer != nil {
		d.timer.Stop()
	}
	return c, resume
}

// handed records that the loop is done, and starts the watchers' budget.
func (d *delivery) handed() {
	switch budget := d.client.budget; {
	case budget <= 0:
		d.expire()
	case d.pending.Load() > 1:
		d.mu.Lock()
		d.timer = time.AfterFunc(budget, d.expire)
		d.mu.Unlock()
	}
	d.done()
}

func (d *delivery) expire() {
	slow := d.pending.Load()
	c, resume := d.end()
	if c == nil {
		return
	}
	if c.budget > 0 {
		c.slow.Add(uint64(slow)) //nolint:gosec // a count
	}
	resume()
}

// stuckAfter is the time after which more workers are started if all of them are inside watchers'
// code and other watchers wait.
const stuckAfter = 10 * time.Millisecond

// maxBlockedWatchers is the limit of callbacks that may block before other watchers have to wait
// for one of them to return.
const maxBlockedWatchers = 10_000

// A callbackPool runs the callbacks of subscriptions. While there are callbacks to run, there are as
// many goroutines as processors, and otherwise none. If watchers block, further goroutines take over
// the waiting callbacks. A watcher that never returns thus costs only itself and one goroutine, for
// up to 10,000 watchers.
type callbackPool struct {
	start func(func()) // runs a function on a goroutine
	full  func()       // called when the limit is reached, without p.mu: it may log

	mu      sync.Mutex
	queue   []*subscription
	running int
	workers int  // how many may run, without those that may be stuck
	spare   int  // how many of the running ones may be stuck
	started int  // subscriptions taken from the queue so far
	armed   bool // the timer that looks for stuck workers runs
	warned  bool // full was called since the queue was empty last
}

// run lets a worker deliver the state in the subscription's mailbox.
func (p *callbackPool) run(s *subscription) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, s)
	if p.running == p.spare {
		p.workers = runtime.GOMAXPROCS(0) // it locks the scheduler, so it is not called for each callback
	}
	if p.running-p.spare < p.workers {
		p.running++
		p.start(p.work)
		return
	}
	p.arm()
}

func (p *callbackPool) work() {
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.running--
			p.spare = min(p.spare, p.running)
			p.warned = false
			p.mu.Unlock()
			return
		}
		s := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		if len(p.queue) == 0 {
			p.queue = nil
		}
		p.started++
		p.mu.Unlock()
		s.deliver()
	}
}

// arm starts the timer that looks for stuck workers. p.mu is held.
func (p *callbackPool) arm() {
	if p.armed {
		return
	}
	p.armed = true
	started := p.started
	time.AfterFunc(stuckAfter, func() {
		if p.relieve(started) {
			p.full()
		}
	})
}

// relieve starts more workers if no worker has returned since the given number of subscriptions
// were started. It reports whether the limit was newly reached.
func (p *callbackPool) relieve(started int) (full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	if len(p.queue) == 0 {
		return false
	}
	if p.started == started {
		// Twice as many each time, to get past a thousand blocked watchers quickly.
		more := min(max(1, p.spare), len(p.queue), maxBlockedWatchers-p.spare)
		if more == 0 { // the worker of the next callback that returns goes on with the queue
			full = !p.warned
			p.warned = true
			return full
		}
		p.spare += more
		p.running += more
		for range more {
			p.start(p.work)
		}
	}
	p.arm()
	return false
}
