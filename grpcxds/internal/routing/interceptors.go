// Package routing processes a channel's calls before they are load-balanced. It chooses a route
// (gRFC A28) and applies timeouts (A31), HTTP filters (A39), hashes (A42) and retries (A44).
//
// grpc-go does not export its ConfigSelector. Interceptors do this work instead, and pass their
// choices to the pickers in the context (package lbtree). They must be the innermost interceptors,
// to see the final method and headers. [Interceptors] belong to one grpc.ClientConn. They route calls
// with the newest [Table].
//
// # Retries
//
// grpc-go retries calls if all routes of the virtual host have the same retry policy, because its service config can
// express that. Its own options, statistics and channelz apply then.
//
// Otherwise this package retries calls, so grpc-go sees several calls. The caller gets the result of the last
// attempt and sees nothing of the others. grpc.OnFinish is called once. Statistics handlers and
// binary logs see every attempt as a call.
//
//   - Unary calls are retried until the response's headers are received.
//   - Streams are retried until a header is received, if they have sent at most 256 KiB of
//     messages (or grpc.MaxRetryRPCBufferSize). All messages must be protobuf messages, which
//     are copied. After any other message, there are no retries.
//   - A call that load balancing drops (A32) is not retried.
//
// grpc-go does not tell interceptors about grpc.WithDisableRetry, so it does not disable the retries of this package.
// [Interceptors].DisableRetries disables both.
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

	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
)

// ErrInUse is the error of a channel whose options another open channel uses.
var ErrInUse = errors.New("grpcxds: these dial options are those of another channel that is open; each needs its own")

// Interceptors are the interceptors of one grpc.ClientConn. They are safe for concurrent use.
type Interceptors struct {
	id      uint64 // the hash of calls for the policy that hashes by channel (A42)
	noRetry bool
	conn    atomic.Pointer[grpc.ClientConn]
	state   atomic.Pointer[state]
	begun   begun
	pending atomic.Pointer[func() error]
	refs    routes.Refs
	filters filterchain.ClientHolder
	gate    gate

	checked   atomic.Bool // the first call has begun; see orderCheck
	misplaced atomic.Pointer[func()]
}

// A state is a table, the reason why there is none, or neither at the start.
type state struct {
	table *Table
	err   error
	final bool          // no later state has a table
	over  chan struct{} // closed when another state replaces it
}

// NewInterceptors returns Interceptors without a table.
func NewInterceptors() *Interceptors {
	c := &Interceptors{id: rand.Uint64()}
	c.state.Store(&state{over: make(chan struct{})})
	return c
}

// DisableRetries disables retries. It must be called before the first call.
func (c *Interceptors) DisableRetries() { c.noRetry = true }

// SetSubscriber sets the subscriber that keeps the clusters of calls in the configuration. Nil removes it.
func (c *Interceptors) SetSubscriber(s lbtree.Subscriber) { c.refs.Bind(s) }

// Explain sets the function that names the resources for which the first table waits. Calls that
// exceed their deadline meanwhile have its error. f returns nil if it does not know. A nil f
// never does.
func (c *Interceptors) Explain(f func() error) { c.pending.Store(&f) }

// trouble returns the newest error, or else the error of the function set by Explain. It returns
// nil if there is neither.
func (c *Interceptors) trouble(newest error) error {
	if f := c.pending.Load(); newest == nil && f != nil && *f != nil {
		return (*f)()
	}
	return newest
}

// Set sets the table that routes all later calls. Without a table and with an error, calls fail for
// that reason, or wait if they set WaitForReady. Without either, all calls wait. The channel takes
// ownership of the table.
func (c *Interceptors) Set(t *Table, err error) { c.swap(&state{table: t, err: err}) }

// Waiting reports whether a call that waited for a table has not ended. Such a call creates the LB policies of its own cluster,
// so Connect, which the call may have called, must not create those of another one. If Waiting returns true, it calls over
// when the last of these calls has ended. over must not block.
func (c *Interceptors) Waiting(over func()) bool { return c.begun.wait(over) }

// Fail ends all calls for a permanent reason, including those that wait.
func (c *Interceptors) Fail(err error) { c.swap(&state{err: err, final: true}) }

func (c *Interceptors) swap(next *state) {
	next.over = make(chan struct{})
	old := c.state.Swap(next)
	close(old.over)
	if old.table != nil {
		old.table.Release()
	}
}

// ready returns a state with a table for the call x. It takes the ClientConn out of idleness. Like
// grpc-go's calls that wait for a resolver and an LB policy, fail-fast calls wait only for the first
// table or error.
func (c *Interceptors) ready(ctx context.Context, x *call, cc *grpc.ClientConn, opts []grpc.CallOption) (*state, error) {
	if err := c.claim(cc); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	if s := c.state.Load(); s.table != nil {
		return s, nil
	}
	if x.begun == nil {
		x.begun = &c.begun
		x.begun.add()
	}
	var last error
	for {
		s := c.state.Load()
		switch {
		case s.table != nil:
			addDelay(ctx)
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

// claim reserves the Interceptors for cc. They may replace a ClientConn that is closed.
func (c *Interceptors) claim(cc *grpc.ClientConn) error {
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
