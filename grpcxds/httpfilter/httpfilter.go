package httpfilter

import (
	"context"
	"errors"
	"net"
	"slices"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Filter is an HTTP filter that runs. At least one of Server and Client is set, as its
// sides say, unless it is a terminal one, which ends a list and does nothing else.
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

// ErrEnd ends a client's call as if the server had at once sent trailers with the status
// OK (gRFC A33): a [ClientInterceptor] returns it.
var ErrEnd = errors.New("httpfilter: the call ends with OK, and without a message")

// A ServerInterceptor is what a filter does with the calls that a server takes. It is
// called concurrently.
type ServerInterceptor interface {
	// Intercept is called when a call has come, before what follows in the list. It
	// returns the context that the call goes on with: ctx or one made of it. Or it returns
	// an error, which ends the call; one that is no gRPC status becomes UNKNOWN. It may
	// wait, as long as ctx lasts. The context has the incoming metadata, and is what
	// trailers can be set on.
	Intercept(ctx context.Context, call *ServerCall) (context.Context, error)
}

// A ServerCall is a call that a server takes. It is valid until it is done.
type ServerCall struct {
	// Method is the full one, "/package.Service/Method".
	Method string
	// Metadata is the incoming one, with ":authority". It must not be changed.
	Metadata metadata.MD
	// Local and Remote are the ends of the connection.
	Local, Remote net.Addr
	// AuthInfo is what the connection's handshake found out; nil: nothing.
	AuthInfo credentials.AuthInfo

	ending
}

// A ClientInterceptor is what a filter does with the calls that a client makes. It is
// called concurrently.
type ClientInterceptor interface {
	// Intercept is called before a call leaves, and before what follows in the list. It
	// returns the context that the call goes on with: ctx or one made of it. Or it returns
	// an error, which ends the call; [ErrEnd] does so with OK, and one that is no gRPC
	// status becomes UNKNOWN. It may wait, as long as ctx lasts.
	Intercept(ctx context.Context, call *ClientCall) (context.Context, error)
}

// A ClientCall is a call that a client makes. It is valid until it is done.
type ClientCall struct {
	// Method is the full one, "/package.Service/Method".
	Method string
	// Metadata is the outgoing one that the route was chosen by. It must not be changed: who
	// wants to send another returns a context that has it.
	Metadata metadata.MD

	ending
}

// An ending tells filters that their call is over. A call has one goroutine at a time
// until then.
type ending struct{ done []func(error) }

// OnDone has f called when the call is over, with the error that it ended with; for a
// stream, that is when its last message has been handled. What was added last is called
// first, also when a filter after this one ends the call.
func (e *ending) OnDone(f func(err error)) { e.done = append(e.done, f) }

// Done says that the call is over. It is for who makes or takes calls, not for filters.
func (e *ending) Done(err error) {
	for _, f := range slices.Backward(e.done) {
		f(err)
	}
	e.done = nil
}
