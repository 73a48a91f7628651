package server

import (
	"context"
	"io"
	"reflect"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
)

var (
	errTwice      = status.Error(codes.Internal, "grpcxds: an HTTP filter called next twice")
	errNoResponse = status.Error(codes.Internal, "grpcxds: an HTTP filter sent no message in a unary call")
	errResponses  = status.Error(codes.Internal, "grpcxds: an HTTP filter sent two messages in a unary call")
	errEnded      = status.Error(codes.Canceled, "grpcxds: an HTTP filter sends a message after the end of the call")
	errRequest    = status.Error(codes.Internal, "grpcxds: an HTTP filter receives a request as another type")
)

// filterStream handles a streaming call with filters that see messages.
func (s *chainServer) filterStream(ctx context.Context, way filtering, call *httpfilter.ServerCall, ss grpc.ServerStream, handle func(grpc.ServerStream) error) error {
	return s.filter(ctx, way, call, ss, func(ctx context.Context, inner grpc.ServerStream) error {
		return handle(withContext(inner, headersThrough(ctx, call.Method, ss, inner)))
	})
}

// filterUnary handles a unary call with filters that see messages.
func (s *chainServer) filterUnary(ctx context.Context, way filtering, call *httpfilter.ServerCall, req any, handle grpc.UnaryHandler) (any, error) {
	u := &unaryStream{ctx: ctx, request: req}
	err := s.filter(ctx, way, call, u, func(ctx context.Context, inner grpc.ServerStream) error {
		if err := inner.RecvMsg(req); err != nil {
			return err
		}
		resp, err := handle(headersThrough(ctx, call.Method, u, inner), req)
		if err != nil {
			return err
		}
		return inner.SendMsg(resp)
	})
	response := u.end()
	switch {
	case err != nil:
		return nil, err
	case response == nil:
		return nil, errNoResponse
	}
	return response, nil
}

// filter runs the filters of a call, and handle after them. The result is a gRPC status.
func (s *chainServer) filter(ctx context.Context, way filtering, call *httpfilter.ServerCall, outer grpc.ServerStream, handle httpfilter.ServerNext) error {
	begun := false
	err := filterchain.Handle(way.filters.Interceptors(), call, func(ctx context.Context, inner grpc.ServerStream) error {
		switch {
		case begun:
			return errTwice
		case way.end != nil:
			return way.end
		}
		begun = true
		return handle(ctx, inner)
	})(ctx, outer)
	if err == nil {
		return nil
	}
	s.logDenial(ctx, call.Method, err)
	return filterchain.StatusOf(err)
}

// headersThrough returns the context of a handler whose headers and trailers pass the filters. Without a filter that
// wraps the stream, it is ctx: gRPC looks for other features in its own transport stream.
func headersThrough(ctx context.Context, method string, outer, inner grpc.ServerStream) context.Context {
	if outer == inner {
		return ctx
	}
	return grpc.NewContextWithServerTransportStream(ctx, &transportStream{inner, method})
}

// A transportStream sets headers and trailers on the stream of a filter.
type transportStream struct {
	grpc.ServerStream
	method string
}

// Method implements [grpc.ServerTransportStream].
func (s *transportStream) Method() string { return s.method }

// SetTrailer implements [grpc.ServerTransportStream].
func (s *transportStream) SetTrailer(md metadata.MD) error {
	s.ServerStream.SetTrailer(md)
	return nil
}

// A unaryStream is a unary call as a stream. One goroutine may receive and another may send, also after the end of the call.
type unaryStream struct {
	ctx      context.Context //nolint:containedctx // the result of Context
	request  any
	received bool // of the goroutine that receives

	mu       sync.Mutex // guards the fields below
	response any
	ended    bool
}

// end ends the call and returns the response. The stream takes no message later.
func (u *unaryStream) end() any {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	return u.response
}

// SetHeader implements [grpc.ServerStream].
func (u *unaryStream) SetHeader(md metadata.MD) error { return grpc.SetHeader(u.ctx, md) }

// SendHeader implements [grpc.ServerStream].
func (u *unaryStream) SendHeader(md metadata.MD) error { return grpc.SendHeader(u.ctx, md) }

// SetTrailer implements [grpc.ServerStream].
func (u *unaryStream) SetTrailer(md metadata.MD) { _ = grpc.SetTrailer(u.ctx, md) }

// Context implements [grpc.ServerStream].
func (u *unaryStream) Context() context.Context { return u.ctx }

// SendMsg implements [grpc.ServerStream]. It keeps the response.
func (u *unaryStream) SendMsg(m any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.ended:
		return errEnded
	case u.response != nil:
		return errResponses
	}
	u.response = m
	return nil
}

// RecvMsg implements [grpc.ServerStream]. gRPC has decoded the request into the message that the handler receives. A
// filter that receives it as another message gets a copy. An empty message gets the bytes as unknown fields.
func (u *unaryStream) RecvMsg(m any) error {
	if u.received {
		return io.EOF
	}
	u.received = true
	if same(m, u.request) {
		return nil
	}
	to, ok := m.(proto.Message)
	from, readable := u.request.(proto.Message)
	if !ok || !readable {
		return errRequest
	}
	if empty, ok := m.(*emptypb.Empty); ok {
		return asUnknown(empty, from)
	}
	if to.ProtoReflect().Descriptor() != from.ProtoReflect().Descriptor() {
		return errRequest
	}
	proto.Reset(to)
	proto.Merge(to, from)
	return nil
}

// asUnknown copies a message as unknown fields.
func asUnknown(to *emptypb.Empty, from proto.Message) error {
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(from)
	if err != nil {
		return status.Error(codes.Internal, "grpcxds: encoding a request for an HTTP filter: "+err.Error())
	}
	proto.Reset(to)
	to.ProtoReflect().SetUnknown(raw)
	return nil
}

// same reports whether two messages are the same pointer. Messages of other codecs may not be comparable.
func same(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.Kind() == reflect.Pointer && y.Kind() == reflect.Pointer && x.Pointer() == y.Pointer()
}
