package sidechannel

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/framework/grpcservice"
)

// A caller calls a service with the time limit, the headers and the token of its configuration. The headers of the call
// that causes a call are not sent. A span of the new call is a child of the span of that call.
type caller struct {
	cc      grpc.ClientConnInterface
	timeout time.Duration
	headers metadata.MD
	token   accessToken
}

func newCaller(cc grpc.ClientConnInterface, s *grpcservice.Service) *caller {
	c := &caller{cc: cc, timeout: s.Timeout, headers: metadata.MD{}}
	s.EachHeader(func(name, value string) { c.headers.Append(name, value) })
	if t := s.Token(); t != "" {
		c.token = accessToken{"authorization": "Bearer " + t}
	}
	return c
}

// start returns the context of a call, and its time limit. The caller ends the limit.
func (c *caller) start(ctx context.Context) (context.Context, *limit) {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(separate{ctx}, c.headers))
	l := &limit{timeout: c.timeout, cancel: cancel, channel: c.cc, connected: new(atomic.Bool)}
	if observer, ok := ctx.Value(observerKey{}).(*atomic.Bool); ok {
		l.connected = observer
	}
	if l.timeout > 0 {
		l.timer = time.AfterFunc(l.timeout, func() { l.expired.Store(true); cancel() })
		ctx = limited{ctx, l}
	}
	return ctx, l
}

// A separate context has no values of gRPC. grpc-go's OpenTelemetry plugin keeps the target and the method of a call in its
// context, and would record the call to the service as the call that causes it.
type separate struct{ context.Context }

// Value implements [context.Context].
func (c separate) Value(key any) any {
	if t := reflect.TypeOf(key); t != nil && strings.HasPrefix(t.PkgPath(), "google.golang.org/grpc") {
		return nil
	}
	return c.Context.Value(key)
}

// Invoke implements [grpc.ClientConnInterface]. The time limit begins again when the call gets its stream: the time for which it
// waits for the streams of other calls does not count as time of the service. The error is [Crowded] if it gets none.
func (c *caller) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	ctx, l := c.start(ctx)
	defer l.end()
	return l.explain(c.cc.Invoke(ctx, method, args, reply, slices.Concat(opts, l.options(c.token))...))
}

// NewStream implements [grpc.ClientConnInterface], with the time limit of Invoke.
func (c *caller) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, l := c.start(ctx)
	opts = append(slices.Clip(opts), grpc.OnFinish(func(error) { l.end() }))
	s, err := c.cc.NewStream(ctx, desc, method, slices.Concat(opts, l.options(c.token))...)
	if err == nil {
		if l.begin() {
			return limitedStream{s, l}, nil
		}
		err = errTimeout
	}
	l.end()
	return nil, l.explain(err)
}

// An accessToken has the headers of a call with an access token (A102), or none.
type accessToken map[string]string

// GetRequestMetadata implements [credentials.PerRPCCredentials]. It sends the token only over a connection that is known
// to have privacy and integrity.
func (t accessToken) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	info, _ := credentials.RequestInfoFromContext(ctx)
	common, ok := info.AuthInfo.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	})
	if !ok || common.GetCommonAuthInfo().SecurityLevel != credentials.PrivacyAndIntegrity {
		return nil, nil
	}
	return t, nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials]. Calls over other connections go without the token.
func (accessToken) RequireTransportSecurity() bool { return false }
