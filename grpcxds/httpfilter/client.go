package httpfilter

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// A ClientInstance owns the resources of a filter for one entry in the list of a channel. It lives while a
// configuration or a call uses the entry: the name of the filter and the message type of its configuration.
type ClientInstance interface {
	// Interceptor creates the interceptor of a configuration. config is the result of Parse. override is the result
	// of ParseOverride for the most specific of weighted cluster, route and virtual host, or nil if there is none. A
	// nil interceptor lets every call pass. An error makes the calls fail. Interceptor is called once for each pair
	// of them in an update, not for each call, and by one goroutine at a time.
	Interceptor(config, override any) (ClientInterceptor, error)
	// Close releases the resources. It is called once, after every interceptor was closed.
	Close()
}

// A ClientInterceptor handles the calls of a channel with one configuration. It is called concurrently. A
// [ClientBefore] is an interceptor that sees no messages.
type ClientInterceptor interface {
	// NewStream begins a call. It calls next at most once, with ctx or a context derived from it, to begin the rest
	// of the call: the later filters of the list, and then the attempts of the call. It returns the stream of next, or a
	// stream that wraps it. It may also return a stream of its own and call next later, or never. The options of next
	// apply to the attempts.
	//
	// An error ends the call: [ErrEnd] ends it with OK, and an error that is no gRPC status becomes UNKNOWN.
	// NewStream may wait until ctx is done. When the call ends, its context is canceled for the rest of the call, so
	// that a filter may abandon the stream of next.
	//
	// A unary call is a stream with one message in each direction. The call is sent with the first RecvMsg of the stream
	// of next. Headers are received together with the message: until then, Header returns nil.
	NewStream(ctx context.Context, call *ClientCall, next ClientNext) (grpc.ClientStream, error)
}

// ClientNext begins the rest of a call.
type ClientNext func(ctx context.Context, opts ...grpc.CallOption) (grpc.ClientStream, error)

// A ClientBefore is an interceptor that runs before a call is sent, and before the later filters of the list. It
// returns ctx, or a context derived from it, for the rest of the call. An error ends the call: [ErrEnd] ends it with OK,
// and an error that is no gRPC status becomes UNKNOWN. It may wait until ctx is done.
type ClientBefore func(ctx context.Context, call *ClientCall) (context.Context, error)

// NewStream implements [ClientInterceptor].
func (f ClientBefore) NewStream(ctx context.Context, call *ClientCall, next ClientNext) (grpc.ClientStream, error) {
	ctx, err := f(ctx, call)
	if err != nil {
		return nil, err
	}
	return next(ctx)
}

// A ClientCall is a call that a client makes. It is valid until the call is done.
type ClientCall struct {
	// Method is the full method name, "/package.Service/Method".
	Method string
	// Metadata is the outgoing metadata of the call: that which the route was matched with, or that of SetMetadata.
	// Filters must not change the map.
	Metadata metadata.MD
	// Cluster is the name of the cluster that the call was routed to. It is empty if a cluster specifier plugin chooses
	// it, and if the route has no usable action.
	Cluster string
	// ClientStreams and ServerStreams report whether the client and the server may send any number of messages.
	// A unary call has neither.
	ClientStreams, ServerStreams bool
	// MaxReceive is the limit of a message that the client receives, in bytes. 0 means no limit.
	MaxReceive int

	ending
	options []grpc.CallOption
}

// SetMetadata replaces the outgoing metadata for the later filters and for the attempts. The filter passes the result to
// next, or returns it. It must not change md any more.
func (c *ClientCall) SetMetadata(ctx context.Context, md metadata.MD) context.Context {
	c.Metadata = md
	return metadata.NewOutgoingContext(ctx, md)
}

// AddOptions adds options to the attempts of the call. A [ClientBefore] uses it; others pass options to next. Call
// credentials are sent beside those of the program, and replace headers of the same name.
func (c *ClientCall) AddOptions(opts ...grpc.CallOption) { c.options = append(c.options, opts...) }

// Options returns the options of AddOptions. The caller of the interceptors uses it, not the filters.
func (c *ClientCall) Options() []grpc.CallOption {
	if c == nil {
		return nil
	}
	return c.options
}

// ClientFunc returns the NewClient of a filter that keeps nothing between updates. f creates the interceptor of a
// configuration, as [ClientInstance].Interceptor does.
func ClientFunc(f func(config, override any) (ClientInterceptor, error)) func(Host) (ClientInstance, error) {
	return func(Host) (ClientInstance, error) { return clientFunc(f), nil }
}

type clientFunc func(config, override any) (ClientInterceptor, error)

// Interceptor implements [ClientInstance].
func (f clientFunc) Interceptor(config, override any) (ClientInterceptor, error) {
	return f(config, override)
}

// Close implements [ClientInstance].
func (clientFunc) Close() {}

// Stateless reports that there is nothing to close.
func (clientFunc) Stateless() bool { return true }
