package routing

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// ErrInUse is the error of a channel whose options another open channel uses.
var ErrInUse = errors.New("grpcxds: these dial options are those of another channel that is open; each needs its own")

// A Channel has the interceptors of one grpc.ClientConn. It is safe for concurrent use.
type Channel struct {
	id      uint64 // the hash of calls for the policy that hashes by channel (A42)
	noRetry bool
	conn    atomic.Pointer[grpc.ClientConn]
	state   atomic.Pointer[state]
	waiting atomic.Int64 // the number of calls that wait for a table
	pending atomic.Pointer[func() error]
	refs    refs
}

// A state is a table, the reason why there is none, or neither at the start.
type state struct {
	table *Table
	err   error
	final bool          // no later state has a table
	over  chan struct{} // closed when another state replaces it
}

// NewChannel returns a Channel without a table.
func NewChannel() *Channel {
	c := &Channel{id: rand.Uint64()}
	c.state.Store(&state{over: make(chan struct{})})
	return c
}

// DisableRetries disables retries. It must be called before the first call.
func (c *Channel) DisableRetries() { c.noRetry = true }

// Bind sets the subscriber that keeps the clusters of calls in the configuration. Nil removes it.
func (c *Channel) Bind(h lbtree.Subscriber) { c.refs.bind(h) }

// Explain sets the function that names the resources for which the first table waits. Calls that
// exceed their deadline meanwhile have its error. f returns nil if it does not know. A nil f
// never does.
func (c *Channel) Explain(f func() error) { c.pending.Store(&f) }

// trouble returns the newest error, or else the error of the function set by Explain. It returns
// nil if there is neither.
func (c *Channel) trouble(newest error) error {
	if f := c.pending.Load(); newest == nil && f != nil && *f != nil {
		return (*f)()
	}
	return newest
}

// Set sets the table that routes all later calls. Without a table and with an error, calls fail for
// that reason, or wait if they set WaitForReady. Without either, all calls wait. The channel takes
// ownership of the table.
func (c *Channel) Set(t *Table, err error) { c.swap(&state{table: t, err: err}) }

// Waiting reports whether calls wait for a table.
func (c *Channel) Waiting() bool { return c.waiting.Load() > 0 }

// Fail ends all calls for a permanent reason, including those that wait.
func (c *Channel) Fail(err error) { c.swap(&state{err: err, final: true}) }

func (c *Channel) swap(next *state) {
	next.over = make(chan struct{})
	old := c.state.Swap(next)
	close(old.over)
	if old.table != nil {
		old.table.release()
	}
}

// ready returns a state with a table. It takes the ClientConn out of idleness. Like grpc-go's calls
// that wait for a resolver and an LB policy, fail-fast calls wait only for the first table or
// error.
func (c *Channel) ready(ctx context.Context, cc *grpc.ClientConn, opts []grpc.CallOption) (*state, error) {
	if err := c.claim(cc); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	if s := c.state.Load(); s.table != nil {
		return s, nil
	}
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	var last error
	for {
		s := c.state.Load()
		switch {
		case s.table != nil:
			return s, nil
		case s.err != nil && (s.final || failFast(opts)):
			return nil, status.Error(codes.Unavailable, s.err.Error())
		case s.err != nil:
			last = s.err
		default:
			cc.Connect()
			if cc.GetState() == connectivity.Shutdown {
				return nil, status.Errorf(codes.Canceled, "grpcxds: target %q: the channel is closed", cc.Target())
			}
		}
		select {
		case <-s.over:
		case <-ctx.Done():
			return nil, waited(ctx.Err(), cc.Target(), c.trouble(last))
		}
	}
}

// waited returns the status of a call that ended before there was a table.
func waited(err error, target string, last error) error {
	code := status.FromContextError(err).Code()
	if last == nil {
		return status.Errorf(code, "grpcxds: target %q: %v while waiting for the configuration", target, err)
	}
	return status.Errorf(code, "%v while waiting for the configuration: %v", err, last)
}

// failFast reports whether a call fails instead of waiting, as it does by default.
func failFast(opts []grpc.CallOption) bool {
	fast := true
	for _, o := range opts {
		if f, ok := o.(grpc.FailFastCallOption); ok {
			fast = f.FailFast
		}
	}
	return fast
}

// claim reserves the Channel for cc. It may replace a ClientConn that is closed.
func (c *Channel) claim(cc *grpc.ClientConn) error {
	for {
		owner := c.conn.Load()
		switch {
		case owner == cc:
			return nil
		case owner != nil && owner.GetState() != connectivity.Shutdown:
			return ErrInUse
		case c.conn.CompareAndSwap(owner, cc):
			return nil
		}
	}
}
