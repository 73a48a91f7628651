package filterchain

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// ErrNoMessage is the status of a call without the message that it must have.
var ErrNoMessage = status.Error(codes.Internal, "grpcxds: an HTTP filter ended the call with OK, and without a message")

var errNone = status.Error(codes.Internal, "grpcxds: an HTTP filter returned neither a stream nor an error")

// Begin begins a call at a filter. All errors are gRPC statuses. A call that the filter ends by [httpfilter.ErrEnd] has a
// stream that has ended, for the filters outside.
func Begin(ctx context.Context, filter httpfilter.ClientInterceptor, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	s, err := filter.NewStream(ctx, call, next)
	switch {
	case errors.Is(err, httpfilter.ErrEnd):
		return Ended(ctx, call.ClientStreams, call.ServerStreams), nil
	case err != nil:
		return nil, StatusOf(err)
	case s == nil:
		return nil, errNone
	}
	return s, nil
}

// Handle returns the function that runs filters, and last after them.
func Handle(filters []httpfilter.ServerInterceptor, call *httpfilter.ServerCall, last httpfilter.ServerNext) httpfilter.ServerNext {
	if len(filters) == 0 {
		return last
	}
	rest := Handle(filters[1:], call, last)
	return func(ctx context.Context, ss grpc.ServerStream) error {
		return filters[0].Handle(ctx, call, ss, rest)
	}
}

// Ended returns a stream that a filter ended as if the server had sent trailers with OK (A33).
func Ended(ctx context.Context, clientStreams, serverStreams bool) grpc.ClientStream {
	return &ended{ctx, clientStreams, serverStreams}
}

type ended struct {
	ctx                          context.Context //nolint:containedctx // the result of Context
	clientStreams, serverStreams bool
}

// Header implements [grpc.ClientStream].
func (*ended) Header() (metadata.MD, error) { return nil, nil } //nolint:nilnil // there are only trailers

// Trailer implements [grpc.ClientStream].
func (*ended) Trailer() metadata.MD { return nil }

// CloseSend implements [grpc.ClientStream].
func (*ended) CloseSend() error { return nil }

// Context implements [grpc.ClientStream].
func (e *ended) Context() context.Context { return e.ctx }

// SendMsg implements [grpc.ClientStream]. It discards the message.
func (e *ended) SendMsg(any) error {
	if e.clientStreams {
		return io.EOF
	}
	return nil // as grpc-go's own streams: RecvMsg returns the error
}

// RecvMsg implements [grpc.ClientStream].
func (e *ended) RecvMsg(any) error {
	if e.serverStreams {
		return io.EOF
	}
	return ErrNoMessage
}
