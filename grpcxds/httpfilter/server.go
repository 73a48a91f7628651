package httpfilter

import (
	"context"
	"crypto/x509"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// A ServerInstance owns the resources of a filter for one entry in the list of a server's filter chain. It lives while a
// configuration or a call uses the entry: the names of the filter chain and of the filter, and the message type of its
// configuration. The instance of an unnamed filter chain ends with its Listener.
type ServerInstance interface {
	// Interceptor creates the interceptor of a configuration, as [ClientInstance].Interceptor does. Weighted clusters
	// have no overrides here.
	Interceptor(config, override any) (ServerInterceptor, error)
	// Close releases the resources. It is called once, after every interceptor was closed.
	Close()
}

// A ServerInterceptor handles the calls that a server receives with one configuration. It is called concurrently. A
// [ServerBefore] is an interceptor that sees no messages.
type ServerInterceptor interface {
	// Handle handles a call. It calls next at most once, with ctx or a context derived from it, and with stream or a
	// stream that wraps it. next runs the later filters of the list and then the handler, and returns their error.
	// Handle returns the error of the call; an error that is no gRPC status becomes UNKNOWN. It may wait until ctx is
	// done.
	//
	// A unary call is a stream with one message in each direction. gRPC has decoded the request before Handle. The
	// handler receives the decoded message, so that a filter changes it in place: RecvMsg of a wrapping stream passes its
	// message on, and then changes it. A filter that does not know the type of the requests can receive an emptypb.Empty, whose
	// unknown fields are the bytes of the request.
	Handle(ctx context.Context, call *ServerCall, stream grpc.ServerStream, next ServerNext) error
}

// ServerNext handles the rest of a call.
type ServerNext func(ctx context.Context, stream grpc.ServerStream) error

// A ServerBefore is an interceptor that runs when a call starts, before the later filters of the list. It returns ctx,
// or a context derived from it, for the rest of the call. An error ends the call; an error that is no gRPC status becomes
// UNKNOWN. It may wait until ctx is done. The context has the incoming metadata, and trailers can be set on it.
type ServerBefore func(ctx context.Context, call *ServerCall) (context.Context, error)

// Handle implements [ServerInterceptor].
func (f ServerBefore) Handle(ctx context.Context, call *ServerCall, stream grpc.ServerStream, next ServerNext) error {
	ctx, err := f(ctx, call)
	if err != nil {
		return err
	}
	return next(ctx, stream)
}

// A ServerCall is a call that a server receives. It is valid until the call is done.
type ServerCall struct {
	// Method is the full method name, "/package.Service/Method".
	Method string
	// Metadata is the incoming metadata, with ":authority", or that of SetMetadata. Filters must not change the map.
	Metadata metadata.MD
	// Local and Remote are the addresses of the connection.
	Local, Remote net.Addr
	// AuthInfo is the result of the connection's handshake. It is nil if there is none.
	AuthInfo credentials.AuthInfo
	// LocalCertificate returns the newest certificate of the server, or nil. It is nil if the control plane did not configure
	// TLS.
	LocalCertificate func() *x509.Certificate
	// ClientStreams and ServerStreams report whether the client and the server may send any number of messages.
	// A unary call has neither. A call of an unregistered method has both.
	ClientStreams, ServerStreams bool

	ending
}

// SetMetadata replaces the incoming metadata for the later filters and for the handler. The filter passes the result to
// next, or returns it. It must not change md any more.
func (c *ServerCall) SetMetadata(ctx context.Context, md metadata.MD) context.Context {
	c.Metadata = md
	return metadata.NewIncomingContext(ctx, md)
}

// ServerFunc returns the NewServer of a filter that keeps nothing between updates. f creates the interceptor of a
// configuration, as [ServerInstance].Interceptor does.
func ServerFunc(f func(config, override any) (ServerInterceptor, error)) func(Host) (ServerInstance, error) {
	return func(Host) (ServerInstance, error) { return serverFunc(f), nil }
}

type serverFunc func(config, override any) (ServerInterceptor, error)

// Interceptor implements [ServerInstance].
func (f serverFunc) Interceptor(config, override any) (ServerInterceptor, error) {
	return f(config, override)
}

// Close implements [ServerInstance].
func (serverFunc) Close() {}

// Stateless reports that there is nothing to close.
func (serverFunc) Stateless() bool { return true }
