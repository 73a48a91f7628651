package client

import (
	"context"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A subscription is one watcher of one resource. Its mailbox holds one state, the newest.
type subscription struct {
	scope  *authorityScope
	record authority.Handle // loop only

	// One of three: a function of Subscribe, one of SubscribeAsync, or, for Observe, a channel that
	// has a token when state is fresh.
	sync  func(next, last resource.State)
	async func(next, last resource.State, done func())
	ready chan struct{}

	told resource.State // the state that was taken last; used only by its taker

	mu     sync.Mutex
	state  resource.State
	since  int64 // since when state has been fresh, in nanoseconds of Unix time
	work   *work // that waits for the watcher
	holds  int32 // calls of async that are not done
	fresh  bool  // state has not been taken yet
	active bool  // a worker has, or will have, this subscription
	closed bool
}

// Notify implements authority.Watcher. The loop calls it.
func (s *subscription) Notify(st resource.State) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	if !s.fresh {
		s.since = s.scope.client.loop.now.UnixNano()
	}
	s.state, s.fresh = st, true
	if w := s.scope.client.loop.work; w != nil && s.work == nil {
		w.add()
		s.work = w
	}
	start := s.ready == nil && !s.active
	s.active = s.active || start
	s.mu.Unlock()
	if s.ready != nil {
		s.signal()
	}
	if start {
		s.scope.client.workers.run(s)
	}
}

func (s *subscription) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take empties the mailbox. news is false if the state equals the one taken before, for example if
// an error came and went in between. Then the worker is done.
func (s *subscription) take() (next, last resource.State, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news = s.fresh && !s.closed && !s.scope.client.closed() && s.state != s.told
	s.fresh = false
	if !news {
		s.active = false
		if s.holds == 0 {
			s.finish()
		}
		return next, last, false
	}
	last, s.told = s.told, s.state
	return s.told, last, true
}

// finish records that the subscriber is done with all states. s.mu is held.
func (s *subscription) finish() {
	if s.work != nil {
		s.work.done()
		s.work = nil
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
		next, last, news := s.take()
		switch {
		case !news:
			return
		case s.async != nil:
			s.async(next, last, s.hold())
		default:
			s.sync(next, last)
		}
	}
}

// Next implements resource.Observation.
func (s *subscription) Next(ctx context.Context) (resource.State, error) {
	for {
		switch {
		case !s.open():
			return resource.State{}, resource.ErrClosed
		case ctx.Err() != nil:
			return resource.State{}, context.Cause(ctx)
		}
		if next, _, news := s.take(); news {
			return next, nil
		}
		select {
		case <-s.ready:
		case <-s.scope.client.done:
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
	s.finish()
	s.mu.Unlock()
	if stopped {
		return
	}
	if s.ready != nil {
		s.signal()
	}
	l := s.scope.client.loop
	l.post(func() {
		s.scope.machine.Cancel(s.record, s, l.now)
		l.authority(s.scope)
	})
}
