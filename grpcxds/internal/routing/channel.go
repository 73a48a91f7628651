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

	"github.com/xdsforge/xdsforge/grpcxds/internal/xdsconfig"
)

// ErrInUse says that a channel's options were given to another channel, too.
var ErrInUse = errors.New("grpcxds: these dial options are those of another channel that is open; each needs its own")

// A Channel has the interceptors of one grpc.ClientConn. It is used from any goroutine.
type Channel struct {
	id      uint64 // what calls are hashed by that have nothing else in common (A42)
	noRetry bool
	conn    atomic.Pointer[grpc.ClientConn]
	state   atomic.Pointer[state]
	waiting atomic.Int64 // calls, for a table
	pending atomic.Pointer[func() error]
	refs    refs
}

// A state is what calls go by: a table, the reason why there is none, or nothing yet.
type state struct {
	table *Table
	err   error
	final bool          // no table will come
	over  chan struct{} // closed when there is another state
}

// NewChannel returns what has no table yet.
func NewChannel() *Channel {
	c := &Channel{id: rand.Uint64()}
	c.state.Store(&state{over: make(chan struct{})})
	return c
}

// DisableRetries has no call be made again. It must be called before the first one.
func (c *Channel) DisableRetries() { c.noRetry = true }

// Bind has the holder keep the clusters that calls are sent to; nil: there is none now.
func (c *Channel) Bind(h xdsconfig.Holder) { c.refs.bind(h) }

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

// Set makes a table the one that calls are routed by from now on. Without a table, calls
// fail for the given reason, or wait, as they want; without a reason, they all wait. The
// channel takes over the table.
func (c *Channel) Set(t *Table, err error) { c.swap(&state{table: t, err: err}) }

// Waiting reports whether there are calls that wait for a table.
func (c *Channel) Waiting() bool { return c.waiting.Load() > 0 }

// Fail ends all calls, those that wait too, for a reason that stays.
func (c *Channel) Fail(err error) { c.swap(&state{err: err, final: true}) }

func (c *Channel) swap(next *state) {
	next.over = make(chan struct{})
	old := c.state.Swap(next)
	close(old.over)
	if old.table != nil {
		old.table.release()
	}
}

// ready is the state that a call can go by. It takes the ClientConn out of idleness, and
// does what grpc-go does for calls that wait for a resolver and an LB policy: those that
// fail fast wait for the first news only.
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

// waited is the status of a call whose time was over before there was a table.
func waited(err error, target string, last error) error {
	code := status.FromContextError(err).Code()
	if last == nil {
		return status.Errorf(code, "grpcxds: target %q: %v while waiting for the configuration", target, err)
	}
	return status.Errorf(code, "%v while waiting for the configuration: %v", err, last)
}

// failFast reports whether a call fails rather than waits (the default).
func failFast(opts []grpc.CallOption) bool {
	fast := true
	for _, o := range opts {
		if f, ok := o.(grpc.FailFastCallOption); ok {
			fast = f.FailFast
		}
	}
	return fast
}

// claim makes cc the one whose calls these are. One that was closed has no calls any more.
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
