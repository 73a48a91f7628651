package composite

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
)

// A serverInstance has the instances of the filters of a server's composite filter.
type serverInstance struct {
	host   httpfilter.Host
	holder filters.Holder[httpfilter.ServerInstance]
	random func(n uint32) uint32
}

// Interceptor implements [httpfilter.ServerInstance]. If no filter of an action sees messages, neither does the result.
func (i *serverInstance) Interceptor(c, override any) (httpfilter.ServerInterceptor, error) {
	read, err := merge(c, override)
	if err != nil || read.Matcher == nil {
		return nil, err
	}
	set := i.holder.Begin()
	b := builder[httpfilter.ServerInterceptor, httpfilter.ServerBefore, *httpfilter.ServerCall, httpfilter.ServerInstance]{set: set, create: i.create}
	f := &serverFilter{chooser[httpfilter.ServerInterceptor]{tree: read.Matcher, actions: b.all(read.Actions), random: i.random, end: set.Release}}
	if b.plain {
		set.Release() // there is nothing to close later
		return httpfilter.ServerBefore(f.before), nil
	}
	return f, nil
}

// create returns the function that creates the instance of a filter, or nil if the filter does not run on servers.
func (i *serverInstance) create(n config.Nested) func() (httpfilter.ServerInstance, error) {
	f := lookup(&i.host, n.Message)
	if f == nil || f.NewServer == nil {
		return nil
	}
	host := i.host
	host.Name = n.Name
	return func() (httpfilter.ServerInstance, error) { return f.NewServer(host) }
}

// Close implements [httpfilter.ServerInstance]. The interceptors have closed the instances.
func (*serverInstance) Close() {}

// A serverFilter chooses filters for the calls that a server receives.
type serverFilter struct {
	chooser[httpfilter.ServerInterceptor]
}

// before is a [httpfilter.ServerBefore].
func (f *serverFilter) before(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
	run, err := f.choose(newServerCall(call))
	for _, i := range run {
		if ctx, err = i.(httpfilter.ServerBefore)(ctx, call); err != nil {
			break
		}
	}
	return ctx, err
}

// Handle implements [httpfilter.ServerInterceptor].
func (f *serverFilter) Handle(ctx context.Context, call *httpfilter.ServerCall, stream grpc.ServerStream, next httpfilter.ServerNext) error {
	run, err := f.choose(newServerCall(call))
	if err != nil {
		return err
	}
	return filterchain.Handle(run, call, next)(ctx, stream)
}

// A serverCall is a call as matchers see it.
type serverCall struct {
	matchtree.Call
	call *httpfilter.ServerCall
}

func newServerCall(call *httpfilter.ServerCall) *matchtree.Call {
	c := &serverCall{Call: matchtree.Call{Method: call.Method, Metadata: call.Metadata}, call: call}
	c.Attributes = c
	return &c.Call
}

// Peer implements [matchtree.Attributes].
func (c *serverCall) Peer() (net.Addr, *tls.ConnectionState) {
	info, ok := c.call.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return c.call.Remote, nil
	}
	return c.call.Remote, &info.State
}

// ClusterMetadata implements [matchtree.Attributes]. A server has no clusters.
func (*serverCall) ClusterMetadata(string) (map[string]any, bool) { return nil, false }
