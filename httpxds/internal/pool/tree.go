package pool

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
)

// ErrClosed is the error of requests of a closed Tree.
var ErrClosed = errors.New("the transport is closed")

// A Tree is the balancer.ClientConn of an LB tree. It is safe for concurrent use.
type Tree struct {
	balancer.ClientConn // nil; the interface demands that it is embedded
	dialer              *Dialer
	resolve             func()
	metrics             estats.MetricsRecorder
	newest              atomic.Pointer[state]

	mu       sync.Mutex
	closed   bool
	subConns map[*SubConn]struct{} // until their last connection is closed
	empty    chan struct{}         // closed when the tree is closed and has no SubConn
}

// A state is a state of the LB tree.
type state struct {
	balancer.State
	err  error         // of a closed Tree
	over chan struct{} // closed when another state replaces it
}

// NewTree returns a Tree without a state. The dialer opens the connections. resolve resolves names again. LB policies record their
// metrics with the recorder.
func NewTree(d *Dialer, resolve func(), metrics estats.MetricsRecorder) *Tree {
	t := &Tree{dialer: d, resolve: resolve, metrics: metrics, subConns: make(map[*SubConn]struct{}), empty: make(chan struct{})}
	t.newest.Store(&state{State: balancer.State{ConnectivityState: connectivity.Idle}, over: make(chan struct{})})
	return t
}

// UpdateState implements [balancer.ClientConn].
func (t *Tree) UpdateState(s balancer.State) { t.swap(&state{State: s}) }

func (t *Tree) swap(next *state) {
	next.over = make(chan struct{})
	for {
		last := t.newest.Load()
		if last.err != nil {
			return
		}
		if t.newest.CompareAndSwap(last, next) {
			close(last.over)
			return
		}
	}
}

// NewSubConn implements [balancer.ClientConn].
func (t *Tree) NewSubConn(addrs []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	if len(addrs) == 0 {
		return nil, errors.New("pool: a subchannel needs an address")
	}
	s := newSubConn(t, addrs, o.StateListener)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	t.subConns[s] = struct{}{}
	return s, nil
}

// RemoveSubConn implements [balancer.ClientConn].
func (t *Tree) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses implements [balancer.ClientConn].
func (t *Tree) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	sc.UpdateAddresses(addrs) //nolint:staticcheck // older policies still do so
}

// ResolveNow implements [balancer.ClientConn].
func (t *Tree) ResolveNow(resolver.ResolveNowOptions) { t.resolve() }

// Target implements [balancer.ClientConn].
func (*Tree) Target() string { return "" }

// MetricsRecorder implements [balancer.ClientConn].
func (t *Tree) MetricsRecorder() estats.MetricsRecorder { return t.metrics }

// ended removes a SubConn whose last connection is closed.
func (t *Tree) ended(s *SubConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subConns, s)
	if t.closed && len(t.subConns) == 0 {
		t.closeEmpty()
	}
}

func (t *Tree) closeEmpty() {
	select {
	case <-t.empty:
	default:
		close(t.empty)
	}
}

// CloseIdle closes the connections without requests, but keeps one connection of each endpoint.
func (t *Tree) CloseIdle() {
	for _, s := range t.all() {
		s.closeIdle(0)
	}
}

func (t *Tree) all() []*SubConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*SubConn, 0, len(t.subConns))
	for s := range t.subConns {
		all = append(all, s)
	}
	return all
}

// Close closes all connections at once, and waits until they are closed. The LB tree is closed before.
func (t *Tree) Close() {
	t.swap(&state{err: ErrClosed})
	t.mu.Lock()
	t.closed = true
	if len(t.subConns) == 0 {
		t.closeEmpty()
	}
	t.mu.Unlock()
	for _, s := range t.all() {
		s.Shutdown()
		s.abort()
	}
	<-t.empty
}

// Wait waits until done returns true for a connectivity state.
func (t *Tree) Wait(ctx context.Context, done func(connectivity.State) bool) error {
	for {
		s := t.newest.Load()
		switch {
		case s.err != nil:
			return s.err
		case done(s.ConnectivityState):
			return nil
		}
		select {
		case <-s.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Circuit returns the limits of the connection's cluster, or nil.
func (c *conn) Circuit() *breaker.Circuit { return c.owner.circuit }

// A Lease is a connection that is reserved for one request.
type Lease struct {
	*conn
	Pick balancer.PickResult
}

// A ConnectError is the error of a connection that could not be opened. The request was not sent.
type ConnectError struct {
	Endpoint string
	// Circuit has the limits of the cluster, or is nil.
	Circuit *breaker.Circuit
	Err     error
}

// Error implements error.
func (e *ConnectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// Acquire picks an endpoint and reserves a connection to it. It waits until the LB tree has a usable state. The error is
// that of the picker, a [*ConnectError], or that of the context. The caller must use the lease, and call Pick.Done. An upgrade
// gets a connection of HTTP/1.1, or [ErrNoUpgrade].
func (t *Tree) Acquire(info balancer.PickInfo, upgrade bool) (Lease, error) {
	var pending pending
	defer pending.release()
	for {
		s := t.newest.Load()
		if s.err != nil {
			return Lease{}, s.err
		}
		err := balancer.ErrNoSubConnAvailable
		var r balancer.PickResult
		if s.Picker != nil {
			r, err = s.Picker.Pick(info)
		}
		if err == nil {
			sc, ok := r.SubConn.(*SubConn)
			if !ok {
				return Lease{}, errors.New("pool: the LB policy picked a foreign subchannel")
			}
			var c *conn
			if c, err = sc.acquire(info.Ctx, upgrade); err == nil {
				return Lease{c, r}, nil
			}
			if r.Done != nil {
				r.Done(balancer.DoneInfo{Err: cause(err)})
			}
		}
		if !errors.Is(err, balancer.ErrNoSubConnAvailable) {
			return Lease{}, err
		}
		if !pending.take(err) {
			return Lease{}, ErrPending
		}
		select {
		case <-s.over:
		case <-info.Ctx.Done():
			return Lease{}, context.Cause(info.Ctx)
		}
	}
}

// A pending counts a request that waits for the LB tree.
type pending struct {
	unit  breaker.Unit
	taken bool
}

// take counts the request once, if a cluster makes it wait. It returns false if the limit is reached.
func (p *pending) take(err error) (ok bool) {
	w, isCluster := err.(lbtree.WaitingError) //nolint:errorlint // pickers return it as it is
	if !isCluster || p.taken {
		return true
	}
	p.unit, p.taken = w.Take(breaker.Pending)
	return p.taken
}

func (p *pending) release() { p.unit.Release() }

// cause returns the error for the account of an endpoint: nil if the request was not assigned to a connection, because
// the endpoint is no longer connected or too many requests wait.
func cause(err error) error {
	if errors.Is(err, balancer.ErrNoSubConnAvailable) || errors.Is(err, ErrPending) {
		return nil
	}
	if failed := (*ConnectError)(nil); !errors.As(err, &failed) {
		return &outlier.FailureError{Status: http.StatusServiceUnavailable, Ignored: true} // the request has ended
	}
	return err
}
