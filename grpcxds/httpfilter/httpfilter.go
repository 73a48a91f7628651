package httpfilter

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Filter is an HTTP filter that runs. At least one of Server and Client is set, as its
// sides say.
type Filter struct {
	// HTTPFilter is how the configuration is read.
	*resource.HTTPFilter
	// Server makes the interceptor of a server's calls. The configuration is what Parse
	// returned, the override what ParseOverride did for the most specific of route and virtual
	// host; nil: there is none. A nil interceptor lets every call pass. It is called once
	// for each of them that a new configuration has, not for each call.
	Server func(config, override any) (ServerInterceptor, error)
	// Client is the same for a client's calls, where a weighted cluster may override too.
	Client func(config, override any) (ClientInterceptor, error)
}

// A ServerInterceptor is what a filter does with the calls that a server takes. It is
// called concurrently.
type ServerInterceptor interface {
	// Intercept returns what next returns, or fails without having called it. The context
	// is that of the call, with its incoming metadata; next may be given another one.
	// Errors that are no gRPC status become UNKNOWN.
	Intercept(ctx context.Context, call *ServerCall, next func(context.Context) error) error
}

// A ServerCall is a call that a server takes. It is valid until Intercept returns.
type ServerCall struct {
	// Method is the full one, "/package.Service/Method".
	Method string
	// Metadata is the incoming one, with ":authority". It must not be changed.
	Metadata metadata.MD
	// Local and Remote are the ends of the connection.
	Local, Remote net.Addr
	// AuthInfo is what the connection's handshake found out; nil: nothing.
	AuthInfo credentials.AuthInfo
}

// A ClientInterceptor is what a filter does with the calls that a client makes. It is
// called concurrently.
type ClientInterceptor interface {
	// Intercept returns what next returns, or fails without having called it. The context
	// is that of the call; next may be given another one.
	Intercept(ctx context.Context, call *ClientCall, next func(context.Context) error) error
}

// A ClientCall is a call that a client makes. It is valid until Intercept returns.
type ClientCall struct {
	// Method is the full one, "/package.Service/Method".
	Method string
	// Metadata is the outgoing one. It must not be changed: next takes a context that has
	// another.
	Metadata metadata.MD

	done []func(error)
}

// OnDone has f called when the call is over, with the error that it ended with. For a
// stream, that is after Intercept has returned.
func (c *ClientCall) OnDone(f func(err error)) { c.done = append(c.done, f) }

// Done says that the call is over. It is for who makes calls, not for filters.
func (c *ClientCall) Done(err error) {
	for _, f := range c.done {
		f(err)
	}
}
