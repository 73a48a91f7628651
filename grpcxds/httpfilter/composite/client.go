package composite

import (
	"context"
	"crypto/tls"
	"net"
	"slices"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
)

// A clientInstance has the instances of the filters of a channel's composite filter.
type clientInstance struct {
	host   httpfilter.Host
	holder filters.Holder[httpfilter.ClientInstance]
	random func(n uint32) uint32
}

// Interceptor implements [httpfilter.ClientInstance]. If no filter of an action sees messages, neither does the result.
func (i *clientInstance) Interceptor(c, override any) (httpfilter.ClientInterceptor, error) {
	read, err := merge(c, override)
	if err != nil || read.Matcher == nil {
		return nil, err
	}
	set := i.holder.Begin()
	b := builder[httpfilter.ClientInterceptor, httpfilter.ClientBefore, *httpfilter.ClientCall, httpfilter.ClientInstance]{set: set, create: i.create}
	f := &clientFilter{chooser[httpfilter.ClientInterceptor]{tree: read.Matcher, actions: b.all(read.Actions), random: i.random, end: set.Release}, &i.host}
	if b.plain {
		set.Release() // there is nothing to close later
		return httpfilter.ClientBefore(f.before), nil
	}
	return f, nil
}

// create returns the function that creates the instance of a filter, or nil if the filter does not run on channels.
func (i *clientInstance) create(n config.Nested) func() (httpfilter.ClientInstance, error) {
	f := lookup(&i.host, n.Message)
	if f == nil || f.NewClient == nil {
		return nil
	}
	host := i.host
	host.Name = n.Name
	return func() (httpfilter.ClientInstance, error) { return f.NewClient(host) }
}

// Close implements [httpfilter.ClientInstance]. The interceptors have closed the instances.
func (*clientInstance) Close() {}

// A clientFilter chooses filters for the calls of a channel.
type clientFilter struct {
	chooser[httpfilter.ClientInterceptor]
	host *httpfilter.Host
}

// before is a [httpfilter.ClientBefore].
func (f *clientFilter) before(ctx context.Context, call *httpfilter.ClientCall) (context.Context, error) {
	run, err := f.choose(f.call(call))
	for _, i := range run {
		if ctx, err = i.(httpfilter.ClientBefore)(ctx, call); err != nil {
			break
		}
	}
	return ctx, err
}

// NewStream implements [httpfilter.ClientInterceptor].
func (f *clientFilter) NewStream(ctx context.Context, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	run, err := f.choose(f.call(call))
	if err != nil {
		return nil, err
	}
	return begin(run, call, next)(ctx)
}

// begin returns the function that begins a call at the first of the filters, and the rest of it by next.
func begin(run []httpfilter.ClientInterceptor, call *httpfilter.ClientCall, next httpfilter.ClientNext) httpfilter.ClientNext {
	if len(run) == 0 {
		return next
	}
	return func(ctx context.Context, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		rest := next
		if len(opts) > 0 {
			rest = func(ctx context.Context, more ...grpc.CallOption) (grpc.ClientStream, error) {
				return next(ctx, slices.Concat(opts, more)...)
			}
		}
		return filterchain.Begin(ctx, run[0], call, begin(run[1:], call, rest))
	}
}

// A clientCall is a call as matchers see it.
type clientCall struct {
	matchtree.Call
	call *httpfilter.ClientCall
	host *httpfilter.Host
}

func (f *clientFilter) call(call *httpfilter.ClientCall) *matchtree.Call {
	c := &clientCall{Call: matchtree.Call{Method: call.Method, Metadata: call.Metadata}, call: call, host: f.host}
	c.Attributes = c
	return &c.Call
}

// Peer implements [matchtree.Attributes]. The endpoint is not chosen yet.
func (*clientCall) Peer() (net.Addr, *tls.ConnectionState) { return nil, nil }

// ClusterMetadata implements [matchtree.Attributes].
func (c *clientCall) ClusterMetadata(key string) (map[string]any, bool) {
	if c.host.Cluster == nil || c.call.Cluster == "" {
		return nil, false
	}
	u, err := c.host.Cluster(c.call.Cluster)
	if err != nil {
		return nil, false
	}
	fields, ok := u.Metadata[key].Value.(map[string]any)
	return fields, ok
}
