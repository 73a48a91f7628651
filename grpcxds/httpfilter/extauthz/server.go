package extauthz

import (
	"context"
	"sync"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A serverFilter authorizes the calls that a server receives.
type serverFilter struct{ *authorizer }

// Handle implements [httpfilter.ServerInterceptor].
func (f *serverFilter) Handle(ctx context.Context, call *httpfilter.ServerCall, stream grpc.ServerStream, next httpfilter.ServerNext) error {
	md, _ := metadata.FromIncomingContext(ctx)
	v, err := f.authorize(ctx, "", func() *authv3.AttributeContext {
		return &authv3.AttributeContext{
			Source: f.source(call), Destination: destination(call), Request: f.request(call.Method, md),
		}
	})
	if err != nil {
		if v.Decision != nil {
			stream.SetTrailer(v.Trailers())
		}
		return err
	}
	if md, changed := v.request(md); changed {
		ctx = call.SetMetadata(ctx, md)
	}
	if !v.changesResponse() {
		return next(ctx, stream)
	}
	s := &serverStream{ServerStream: stream, verdict: v}
	err = next(ctx, s)
	s.end()
	return err
}

// A serverStream changes the headers of the response. It keeps the headers of the handler until they are sent.
type serverStream struct {
	grpc.ServerStream
	verdict verdict

	mu     sync.Mutex // guards the fields below
	header metadata.MD
	passed bool // the headers were passed on
}

// SetHeader implements [grpc.ServerStream].
func (s *serverStream) SetHeader(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passed {
		return s.ServerStream.SetHeader(md) // an error, if they were sent
	}
	s.header = metadata.Join(s.header, md)
	return nil
}

// SendHeader implements [grpc.ServerStream].
func (s *serverStream) SendHeader(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passed {
		return s.ServerStream.SendHeader(md)
	}
	s.passed = true
	return s.ServerStream.SendHeader(s.verdict.response(metadata.Join(s.header, md)))
}

// SendMsg implements [grpc.ServerStream]. gRPC sends the headers with the first message.
func (s *serverStream) SendMsg(m any) error {
	if err := s.pass(); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

func (s *serverStream) pass() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passed {
		return nil
	}
	s.passed = true
	return s.ServerStream.SetHeader(s.verdict.response(s.header))
}

// end passes the headers of a handler that sent no message. Without headers, the response has only trailers, and the
// changes are ignored (A92).
func (s *serverStream) end() {
	s.mu.Lock()
	none := len(s.header) == 0
	s.mu.Unlock()
	if !none {
		_ = s.pass() // the call is over
	}
}
