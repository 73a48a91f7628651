package extauthz

import (
	"context"
	"io"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A clientFilter authorizes the calls of a channel.
type clientFilter struct{ *authorizer }

// NewStream implements [httpfilter.ClientInterceptor].
func (f *clientFilter) NewStream(ctx context.Context, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	md, _ := metadata.FromOutgoingContext(ctx)
	v, err := f.authorize(ctx, call.Cluster, func() *authv3.AttributeContext {
		// The endpoint is not chosen yet, so that source and destination are unset.
		return &authv3.AttributeContext{Request: f.request(call.Method, md)}
	})
	if err != nil {
		if v.Decision != nil {
			if trailers := v.Trailers(); trailers != nil {
				return &deniedStream{ctx, err, trailers}, nil
			}
		}
		return nil, err
	}
	if md, changed := v.request(md); changed {
		ctx = call.SetMetadata(ctx, md)
	}
	s, err := next(ctx)
	if err != nil || !v.changesResponse() {
		return s, err
	}
	return &clientStream{s, v}, nil
}

// A clientStream changes the headers of the response.
type clientStream struct {
	grpc.ClientStream
	verdict verdict
}

// Header implements [grpc.ClientStream]. A response that has only trailers has no headers to change.
func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil || md == nil {
		return md, err
	}
	return s.verdict.response(md), nil
}

// A deniedStream is a call that the authorization server has denied with trailers.
type deniedStream struct {
	ctx      context.Context //nolint:containedctx // the result of Context
	err      error
	trailers metadata.MD
}

// Header implements [grpc.ClientStream].
func (*deniedStream) Header() (metadata.MD, error) { return nil, nil } //nolint:nilnil // there are only trailers

// Trailer implements [grpc.ClientStream].
func (s *deniedStream) Trailer() metadata.MD { return s.trailers }

// CloseSend implements [grpc.ClientStream].
func (*deniedStream) CloseSend() error { return nil }

// Context implements [grpc.ClientStream].
func (s *deniedStream) Context() context.Context { return s.ctx }

// SendMsg implements [grpc.ClientStream].
func (*deniedStream) SendMsg(any) error { return io.EOF }

// RecvMsg implements [grpc.ClientStream].
func (s *deniedStream) RecvMsg(any) error { return s.err }
