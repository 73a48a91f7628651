package filterchain

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A Chain has the interceptors of type I that run for the calls of a place of the configuration. Those of type B see no
// messages of calls of type C. It is immutable. A nil Chain lets every call pass.
type Chain[I any, B before[C], C any] struct {
	run    []I // the interceptors that are not nil
	before []B // the same, if no interceptor sees messages
	set    lifetime
	counts bool // calls must acquire the set, because a filter has something to close
}

type (
	// A ServerChain has the filters for a server's calls.
	ServerChain = Chain[httpfilter.ServerInterceptor, httpfilter.ServerBefore, *httpfilter.ServerCall]
	// A ClientChain has the filters for a client's calls.
	ClientChain = Chain[httpfilter.ClientInterceptor, httpfilter.ClientBefore, *httpfilter.ClientCall]
)

// before is an interceptor that sees no messages.
type before[C any] interface {
	~func(context.Context, C) (context.Context, error)
}

// newChain returns the chain of links, and creates the interceptors that other chains have not created.
func newChain[I any, B before[C], C any](links []link[I], set lifetime) (*Chain[I, B, C], error) {
	c := &Chain[I, B, C]{set: set, run: make([]I, 0, len(links))}
	for i := range links {
		l := &links[i]
		if l.use == nil {
			continue
		}
		l.open(set)
		if l.use.err != nil {
			return nil, fmt.Errorf("filterchain: HTTP filter %s: %w", printable.Quote(l.name, printable.Short), printable.Error(l.use.err))
		}
		b, plain := any(l.use.interceptor).(B)
		if any(l.use.interceptor) == nil || plain && b == nil {
			continue
		}
		c.run = append(c.run, l.use.interceptor)
		c.counts = c.counts || l.use.counts
		if plain {
			c.before = append(c.before, b)
		}
	}
	if len(c.before) < len(c.run) {
		c.before = nil
	}
	return c, nil
}

// Idle reports whether the chain has no interceptors.
func (c *Chain[I, B, C]) Idle() bool { return c == nil || len(c.run) == 0 }

// Messages reports whether an interceptor sees messages. Calls must pass Interceptors then, and Intercept otherwise.
func (c *Chain[I, B, C]) Messages() bool { return c != nil && len(c.before) < len(c.run) }

// Interceptors returns the interceptors in the order of the list. The caller must not change it.
func (c *Chain[I, B, C]) Interceptors() []I { return c.run }

// Acquire keeps the filters open for a call, until Release. It returns false if another configuration is in use.
func (c *Chain[I, B, C]) Acquire() bool { return c == nil || !c.counts || c.set.Acquire() }

// Release reverses one Acquire that returned true.
func (c *Chain[I, B, C]) Release() {
	if c != nil && c.counts {
		c.set.Release()
	}
}

// Intercept runs the filters in order, until one ends the call. All errors are gRPC statuses, or
// [httpfilter.ErrEnd] on the client's side. The caller must call call.Done at the end, whatever Intercept returns.
// Intercept itself does not allocate.
func (c *Chain[I, B, C]) Intercept(ctx context.Context, call C) (context.Context, error) {
	if c == nil {
		return ctx, nil
	}
	if c.Messages() {
		return ctx, errMessages
	}
	for _, f := range c.before {
		var err error
		if ctx, err = f(ctx, call); err != nil {
			return ctx, StatusOf(err)
		}
	}
	return ctx, nil
}

// errMessages keeps a caller from skipping filters.
var errMessages = status.Error(codes.Internal, "filterchain: a filter of the call sees messages; want a stream")

// StatusOf converts the error of a filter to a gRPC status, unless it is one or [httpfilter.ErrEnd].
func StatusOf(err error) error {
	if _, ok := status.FromError(err); ok || errors.Is(err, httpfilter.ErrEnd) {
		return err
	}
	return status.FromContextError(err).Err()
}
