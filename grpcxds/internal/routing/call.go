package routing

import (
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// unaryDesc describes unary calls.
var unaryDesc grpc.StreamDesc

// A call is a call with a route. The function that begins it ends it.
type call struct {
	tries   *tries  // nil: the call is not retried
	plan    *plan   // nil: none was chosen
	to      *target // whose cluster the call keeps; nil: none
	cancel  context.CancelFunc
	filters *httpfilter.ClientCall
	chain   *filterchain.ClientChain // acquired
	blocked error                    // the status of the call after its filters, if its route has no usable action
	begun   *begun                   // has the call, because it waited for a table; else nil
}

func (c *call) end(err error) {
	if c.filters != nil {
		c.filters.Done(err)
	}
	if c.cancel != nil {
		c.cancel()
	}
	if c.to != nil {
		c.to.Release()
	}
	c.chain.Release()
	if c.tries != nil {
		c.tries.Picking()
		c.tries.record()
	}
	if c.begun != nil {
		c.begun.end()
	}
}

// begin chooses the route and the cluster of a call, and runs the filters. An error is a gRPC
// status or [httpfilter.ErrEnd]. The caller must end the call, also after an error.
func (c *Interceptors) begin(ctx context.Context, method string, desc *grpc.StreamDesc, cc *grpc.ClientConn, opts []grpc.CallOption) (context.Context, call, error) {
	var x call
	for {
		s, err := c.ready(ctx, &x, cc, opts)
		if err != nil {
			return ctx, x, err
		}
		var headers headers
		p, err := s.table.plan(ctx, method, &headers)
		if err != nil {
			return ctx, x, err
		}
		if p.Err != nil {
			if !p.Own.chain.Acquire() {
				continue // another table has replaced this one
			}
			x.plan, x.chain, x.blocked = p, p.Own.chain, status.Error(codes.Unavailable, p.Err.Error())
			ctx, err = x.pass(ctx, p, method, desc, &headers)
			if err == nil && !x.chain.Messages() {
				err = x.blocked
			}
			return ctx, x, err
		}
		to := p.Choose()
		if !to.Acquire() {
			continue // another table has replaced this one
		}
		if !to.Own.Acquire() {
			to.Release()
			continue
		}
		x.plan, x.to, x.chain = p, to, to.Own
		routed := info(ctx, p, to, &headers)
		if p.Own.retry != nil && !s.table.native {
			x.tries = &tries{retry: p.Own.retry, metrics: s.table.metrics, method: methodLabel(method, opts), gate: &c.gate, call: *routed}
			x.tries.call.Attempts, routed = x.tries, &x.tries.call
		}
		ctx, err = x.pass(lbtree.WithCall(ctx, routed), p, method, desc, &headers)
		return ctx, x, err
	}
}

// pass runs the filters of the call, within the time limit of its route, unless one of them sees messages. Those run
// with the stream of the call.
func (c *call) pass(ctx context.Context, p *plan, method string, desc *grpc.StreamDesc, h *headers) (context.Context, error) {
	if p.Own.limit > 0 {
		ctx, c.cancel = context.WithTimeout(ctx, p.Own.limit)
	}
	if c.chain.Idle() {
		return ctx, nil
	}
	c.filters = &httpfilter.ClientCall{
		Method: method, Metadata: metadata.MD(h.get(ctx)),
		Cluster: c.cluster(), ClientStreams: desc.ClientStreams, ServerStreams: desc.ServerStreams,
	}
	if c.chain.Messages() {
		return ctx, nil
	}
	next, err := c.chain.Intercept(ctx, c.filters)
	if err != nil {
		return ctx, err
	}
	if next != ctx {
		c.settle(next)
	}
	return next, nil
}

// settle acquires the cluster that a filter has chosen among those of the route, and then releases the first one (A60).
// If another table has removed the cluster meanwhile, the call keeps the first one.
func (c *call) settle(ctx context.Context) {
	if c.to == nil {
		return
	}
	chosen := lbtree.CallOf(ctx)
	if chosen == nil || chosen.Cluster == c.to.Call.Cluster {
		return
	}
	if to := c.plan.Named(chosen.Cluster); to != nil && to.Acquire() {
		c.to.Release()
		c.to = to
		return
	}
	chosen.Cluster = c.to.Call.Cluster
}

// cluster returns the name of the call's cluster for filters. It is empty if there is none, or a cluster specifier
// plugin instead.
func (c *call) cluster() string {
	if c.to == nil || xdsconfig.IsPluginTarget(c.to.Call.Cluster) {
		return ""
	}
	return c.to.Call.Cluster
}

// headers are the headers of a call. get reads them from the context when they are first needed.
type headers struct {
	taken bool
	md    route.Metadata
}

func (h *headers) get(ctx context.Context) route.Metadata {
	if !h.taken {
		md, _ := metadata.FromOutgoingContext(ctx)
		h.taken, h.md = true, route.Metadata(md)
	}
	return h.md
}

// Unary implements [grpc.UnaryClientInterceptor].
func (c *Interceptors) Unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) (err error) {
	ctx, x, err := c.begin(ctx, method, &unaryDesc, cc, opts)
	native := x.native()
	if err == nil && x.chain.Messages() {
		return c.filterUnary(ctx, x, req, reply, opts, func(ctx context.Context, req, reply any, opts []grpc.CallOption) error {
			return native.invoke(opts, func(opts []grpc.CallOption) error { return invoker(ctx, method, req, reply, cc, opts...) })
		})
	}
	defer func() { x.end(err) }() //nolint:contextcheck // recording metrics does not wait
	switch {
	case errors.Is(err, httpfilter.ErrEnd):
		return filterchain.ErrNoMessage
	case err != nil:
		return err
	}
	ctx = c.checkOrder(ctx)
	opts = withOptions(opts, x.filters.Options())
	if x.tries == nil {
		return native.invoke(opts, func(opts []grpc.CallOption) error { return invoker(ctx, method, req, reply, cc, opts...) })
	}
	return unary(x.tries, ctx, opts, func(ctx context.Context, opts []grpc.CallOption) error {
		return invoker(ctx, method, req, reply, cc, opts...)
	})
}

// Stream implements [grpc.StreamClientInterceptor].
func (c *Interceptors) Stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, x, err := c.begin(ctx, method, desc, cc, opts)
	switch {
	case errors.Is(err, httpfilter.ErrEnd):
		x.end(nil) //nolint:contextcheck // recording metrics does not wait
		return filterchain.Ended(ctx, desc.ClientStreams, desc.ServerStreams), nil
	case err != nil:
		x.end(err) //nolint:contextcheck // recording metrics does not wait
		return nil, err
	}
	native := x.native()
	if x.chain.Messages() {
		return c.filterStream(ctx, x, desc, cc, opts, func(ctx context.Context, opts []grpc.CallOption) (grpc.ClientStream, error) {
			s, err := streamer(ctx, desc, cc, method, opts...)
			return native.wrap(s, desc.ClientStreams, err)
		})
	}
	ctx = c.checkOrder(ctx)
	e := &ending{call: x}
	finish := func(err error) { e.end(native.status(err, nil)) } //nolint:contextcheck // recording metrics does not wait
	opts = append(slices.Clip(withOptions(opts, x.filters.Options())), grpc.OnFinish(finish))
	if x.tries == nil {
		s, err := streamer(ctx, desc, cc, method, opts...)
		if s, err = native.wrap(s, desc.ClientStreams, err); err != nil {
			e.end(err) //nolint:contextcheck // another interceptor may have failed
		}
		return s, err
	}
	return newReplay(ctx, x.tries, opts, func(ctx context.Context, opts []grpc.CallOption) (grpc.ClientStream, error) {
		return streamer(ctx, desc, cc, method, opts...)
	})
}

// An ending ends a call once.
type ending struct {
	call
	once sync.Once
}

func (e *ending) end(err error) { e.once.Do(func() { e.call.end(err) }) }
