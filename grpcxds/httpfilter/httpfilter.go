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

// A Filter is an HTTP filter that runs. At least one of Server and Client is set, according to the sides that
// HTTPFilter supports. A terminal filter, which only ends a list, needs neither.
type Filter struct {
	// HTTPFilter reads and validates the configuration.
	*resource.HTTPFilter
	// Server makes the interceptor for a server's calls. config is the result of Parse. override is the result of
	// ParseOverride for the most specific of route and virtual host, or nil if there is none. A nil interceptor lets
	// every call pass. Server is called once for each pair of them in a new configuration, not for each call.
	Server func(config, override any) (ServerInterceptor, error)
	// Client makes the interceptor for a client's calls. A weighted cluster may override too.
	Client func(config, override any) (ClientInterceptor, error)
}

// ErrEnd ends a client's call as if the server had immediately sent trailers with the status OK (gRFC A33). A
// [ClientInterceptor] returns it.
var ErrEnd = errors.New("httpfilter: the call ends with OK, and without a message")

// A ServerInterceptor handles the calls that a server receives. It is called concurrently.
type ServerInterceptor interface {
	// Intercept is called when a call starts, before the later filters of the list. It returns ctx, or a context
	// derived from it, for the rest of the call. An error ends the call; an error that is no gRPC status becomes
	// UNKNOWN. Intercept may wait until ctx is done. The context has the incoming metadata, and trailers can be set
	// on it.
	Intercept(ctx context.Context, call *ServerCall) (context.Context, error)
}

// A ServerCall is a call that a server receives. It is valid until the call is done.
type ServerCall struct {
	// Method is the full method name, "/package.Service/Method".
	Method string
	// Metadata is the incoming metadata, with ":authority". Filters must not change it.
	Metadata metadata.MD
	// Local and Remote are the addresses of the connection.
	Local, Remote net.Addr
	// AuthInfo is the result of the connection's handshake. It is nil if there is none.
	AuthInfo credentials.AuthInfo

	ending
}

// A ClientInterceptor handles the calls that a client makes. It is called concurrently.
type ClientInterceptor interface {
	// Intercept is called before a call is sent, and before the later filters of the list. It returns ctx, or a
	// context derived from it, for the rest of the call. An error ends the call: [ErrEnd] ends it with OK, and an
	// error that is no gRPC status becomes UNKNOWN. Intercept may wait until ctx is done.
	Intercept(ctx context.Context, call *ClientCall) (context.Context, error)
}

// A ClientCall is a call that a client makes. It is valid until the call is done.
type ClientCall struct {
	// Method is the full method name, "/package.Service/Method".
	Method string
	// Metadata is the outgoing metadata that the route was matched with. Filters must not change it. To send other
	// metadata, return a context that has it.
	Metadata metadata.MD

	ending
}

// An ending notifies filters when their call ends. Until then, one goroutine at a time uses it.
type ending struct{ done []func(error) }

// OnDone registers f to be called when the call is over, with the call's error. A stream is over when its last
// message has been handled. Functions run in reverse order of registration, also if a later filter ends the call.
func (e *ending) OnDone(f func(err error)) { e.done = append(e.done, f) }

// Done marks the call as over and calls the functions of OnDone. The caller of the interceptors uses it, not the
// filters.
func (e *ending) Done(err error) {
	for _, f := range slices.Backward(e.done) {
		f(err)
	}
	e.done = nil
}
