package pool

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// The back-off after failed attempts to connect, as in gRPC.
const (
	backOffBase   = time.Second
	backOffMax    = 120 * time.Second
	backOffFactor = 1.6
	backOffJitter = 0.2
)

// A SubConn has the connections to one endpoint. It is safe for concurrent use.
type SubConn struct {
	balancer.SubConn // nil; the interface demands that it is embedded
	tree             *Tree
	listener         func(balancer.SubConnState)
	ctx              context.Context //nolint:containedctx // that of its attempts to connect
	cancel           context.CancelFunc
	circuit          *breaker.Circuit // the limits of the cluster, or nil
	draining         atomic.Bool      // connections close when their requests have ended

	mu        sync.Mutex
	addresses []resolver.Address
	state     connectivity.State
	notices   []func() // for the listeners, in order
	notifying bool
	health    func(balancer.SubConnState)
	failures  int // attempts since the last that succeeded
	backOff   *time.Timer

	conns   []*conn // all that are open, the oldest first
	idle    []*conn // connections of HTTP/1.1 without a request, the last used last
	dialing int
	waiters []*waiter
	http2   bool // the last connection that was opened speaks HTTP/2

	upgrading int           // attempts to connect for upgrades
	upgrades  chan struct{} // has an element for each connection for an upgrade; nil: without limit
	sweep     *time.Timer   // closes idle connections; nil: not set
	ended     bool
}

// A waiter is a request that waits for a connection.
type waiter struct {
	wake    chan error // nil: look again; has room for one
	pending breaker.Unit
}

// newSubConn returns a subchannel. There is an address, because NewSubConn and UpdateAddresses accept no empty list. So the
// package reads the first one without a check.
func newSubConn(t *Tree, addrs []resolver.Address, listener func(balancer.SubConnState)) *SubConn {
	s := &SubConn{tree: t, addresses: addrs, listener: listener, circuit: lbtree.HTTPOf(addrs[0].Attributes).Circuit}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if most := t.dialer.MaxConns; most > 0 {
		s.upgrades = make(chan struct{}, most)
	}
	return s
}

// Connect implements [balancer.SubConn].
func (s *SubConn) Connect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == connectivity.Idle {
		s.set(balancer.SubConnState{ConnectivityState: connectivity.Connecting})
		s.dial(s.circuit.Force(breaker.Connections)) // each endpoint may have one connection
	}
}

// UpdateAddresses implements [balancer.SubConn]. Open connections stay.
func (s *SubConn) UpdateAddresses(addrs []resolver.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(addrs) > 0 {
		s.addresses = addrs
	}
}

// GetOrBuildProducer implements [balancer.SubConn]. HTTP endpoints have no services of gRPC: each stream of a producer
// fails with the code UNIMPLEMENTED, which ends the producer's attempts.
func (s *SubConn) GetOrBuildProducer(b balancer.ProducerBuilder) (p balancer.Producer, stop func()) {
	p, stop = b.Build(noServices{})
	return p, sync.OnceFunc(stop)
}

// RegisterHealthListener implements [balancer.SubConn]. A connection is healthy as long as it is open.
func (s *SubConn) RegisterHealthListener(listener func(balancer.SubConnState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health = listener
	if listener != nil && s.state == connectivity.Ready {
		s.notice(func() { listener(balancer.SubConnState{ConnectivityState: connectivity.Ready}) })
	}
}

// Shutdown implements [balancer.SubConn]. Connections close when their requests have ended.
func (s *SubConn) Shutdown() {
	s.mu.Lock()
	if s.state == connectivity.Shutdown {
		s.mu.Unlock()
		return
	}
	s.set(balancer.SubConnState{ConnectivityState: connectivity.Shutdown})
	s.wakeAll(balancer.ErrNoSubConnAvailable)
	stop(s.backOff)
	stop(s.sweep)
	conns := slices.Clone(s.conns)
	s.idle = nil
	s.draining.Store(true)
	s.mu.Unlock()
	s.cancel()
	for _, c := range conns {
		c.watch()
		c.closeUnused()
	}
	s.finish()
}

// abort closes all connections, with their requests.
func (s *SubConn) abort() {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, c := range conns {
		c.close()
	}
}

// finish tells the tree that a SubConn which was shut down has no connection any more.
func (s *SubConn) finish() {
	s.mu.Lock()
	over := s.state == connectivity.Shutdown && len(s.conns) == 0 && s.dialing+s.upgrading == 0 && !s.ended
	s.ended = s.ended || over
	s.mu.Unlock()
	if over {
		s.tree.ended(s)
	}
}

func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// set sets the state and notifies the listener. The caller holds mu.
func (s *SubConn) set(next balancer.SubConnState) {
	s.state, s.health = next.ConnectivityState, nil
	if listener := s.listener; listener != nil {
		s.notice(func() { listener(next) })
	}
}

// notice calls f after all notices before it, without mu. The caller holds mu.
func (s *SubConn) notice(f func()) {
	s.notices = append(s.notices, f)
	if s.notifying {
		return
	}
	s.notifying = true
	go s.notify()
}

func (s *SubConn) notify() {
	for {
		s.mu.Lock()
		notices := s.notices
		s.notices = nil
		s.notifying = len(notices) > 0
		s.mu.Unlock()
		if len(notices) == 0 {
			return
		}
		for _, f := range notices {
			f()
		}
	}
}

// failed records an attempt that failed. The caller holds mu.
func (s *SubConn) failed(err error) {
	if s.state == connectivity.Shutdown {
		return
	}
	if len(s.conns) > 0 || s.dialing > 0 {
		s.wakeOne(err)
		s.dialMore() // several requests may wait for one connection of HTTP/2
		return
	}
	s.wakeAll(err)
	s.set(balancer.SubConnState{ConnectivityState: connectivity.TransientFailure, ConnectionError: err})
	s.backOff = time.AfterFunc(pause(s.failures), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.state == connectivity.TransientFailure {
			s.set(balancer.SubConnState{ConnectivityState: connectivity.Idle})
		}
	})
	s.failures++
}

// pause returns the back-off after a number of failures.
func pause(failures int) time.Duration {
	d := min(float64(backOffBase)*math.Pow(backOffFactor, float64(failures)), float64(backOffMax))
	return time.Duration(d * (1 + backOffJitter*(2*rand.Float64()-1)))
}

// wakeOne wakes the request that has waited longest. The caller holds mu.
func (s *SubConn) wakeOne(err error) {
	if len(s.waiters) > 0 {
		w := s.waiters[0]
		s.waiters = slices.Delete(s.waiters, 0, 1)
		w.wake <- err
	}
}

// wakeAll wakes all requests. The caller holds mu.
func (s *SubConn) wakeAll(err error) {
	for len(s.waiters) > 0 {
		s.wakeOne(err)
	}
}

// acquire reserves a connection for a request. If the endpoint is not connected any more, it returns
// balancer.ErrNoSubConnAvailable, which makes the request pick again. An upgrade gets a connection of HTTP/1.1.
func (s *SubConn) acquire(ctx context.Context, upgrade bool) (*conn, error) {
	for {
		if upgrade && s.needsHTTP1() {
			return s.acquireHTTP1(ctx)
		}
		c, w, err := s.take()
		switch {
		case err != nil:
			return nil, err
		case c != nil:
			if c.reserve() {
				return c, nil
			}
			continue
		}
		if err := s.wait(ctx, w); err != nil {
			return nil, err
		}
	}
}

// wait waits until the waiter is woken. Nil means that there may be a connection.
func (s *SubConn) wait(ctx context.Context, w *waiter) error {
	defer w.pending.Release()
	select {
	case err := <-w.wake:
		return err
	case <-ctx.Done():
		s.leave(w)
		return context.Cause(ctx)
	}
}

// ErrPending is the error of a request that the limit of pending requests does not admit.
var ErrPending error = pendingError{}

type pendingError struct{}

// Error implements error.
func (pendingError) Error() string { return "too many requests wait for a connection" }

// Overflow reports that a circuit breaker has ended the request.
func (pendingError) Overflow() bool { return true }

// take returns a connection that may have room for a request, or else a waiter. It starts an attempt to connect if the
// requests that wait need one.
func (s *SubConn) take() (*conn, *waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != connectivity.Ready {
		return nil, nil, balancer.ErrNoSubConnAvailable
	}
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle, c.isIdle = s.idle[:n-1], false
		return c, nil, nil
	}
	for _, c := range s.conns {
		if c.room() {
			c.lent = true
			return c, nil, nil
		}
	}
	pending, ok := s.circuit.Take(breaker.Pending)
	if !ok {
		return nil, nil, ErrPending
	}
	w := &waiter{make(chan error, 1), pending}
	s.waiters = append(s.waiters, w)
	s.dialMore()
	return nil, w, nil
}

// needsConn reports whether the attempts in progress are too few for the requests that wait. The caller holds mu.
func (s *SubConn) needsConn() bool {
	if s.multiplexed() && s.perConnection() != 1 && (s.dialing > 0 || slices.ContainsFunc(s.conns, func(c *conn) bool { return c.untold })) {
		return false
	}
	return s.dialing < len(s.waiters)
}

// dialMore starts an attempt to connect if the requests that wait need one, and if the limit of connections admits it. An endpoint
// without a connection may always have one. The caller holds mu.
func (s *SubConn) dialMore() {
	if !s.needsConn() {
		return
	}
	open := len(s.conns) + s.dialing
	if most := s.tree.dialer.MaxConns; most > 0 && open >= most {
		return // a request that ends leaves its connection
	}
	unit, ok := s.circuit.Take(breaker.Connections)
	if !ok {
		if open > 0 {
			return
		}
		unit = s.circuit.Force(breaker.Connections)
	}
	s.dial(unit)
}

// multiplexed reports whether connections take several requests. The caller holds mu.
func (s *SubConn) multiplexed() bool { return len(s.conns) > 0 && s.http2 }

// perConnection returns the limit of requests on one connection. 0: none.
func (s *SubConn) perConnection() int64 {
	if s.tree.dialer.Once {
		return 1
	}
	return s.circuit.PerConnection()
}

// leave removes a request that does not wait any longer. If it was woken already, it wakes the next one.
func (s *SubConn) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiters, w); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
		return
	}
	s.wakeOne(<-w.wake)
}
