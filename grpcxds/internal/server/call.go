package server

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// headers reads the incoming metadata of a call. It copies only the values that are asked for.
type headers struct{ ctx context.Context }

// Values implements [route.Headers].
func (h headers) Values(name string) []string { return metadata.ValueFromIncomingContext(h.ctx, name) }

func (h headers) authority() string {
	if v := h.Values(":authority"); len(v) > 0 {
		return v[0]
	}
	return ""
}

// choose returns the route of a call. Without an error, it acquires the filters.
func (s *chainServer) choose(method string, h headers) (filtering, error) {
	for {
		r := s.routing.Load()
		way, err := r.choose(method, h)
		switch {
		case err != nil || way.filters.Acquire():
			return way, err
		case s.routing.Load() == r: // otherwise others have replaced these routes
			return way, unavailable(r.nodeID, "the server has stopped")
		}
	}
}

// unary is the [grpc.UnaryServerInterceptor] of a filter chain.
func (s *chainServer) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	way, err := s.choose(info.FullMethod, headers{ctx})
	if err != nil {
		return nil, err
	}
	defer way.filters.Release()
	if way.filters.Idle() && way.end == nil {
		return handler(ctx, req)
	}
	call := s.newCall(ctx, info.FullMethod)
	defer func() { call.Done(err) }()
	if way.filters.Messages() {
		return s.filterUnary(ctx, way, call, req, handler)
	}
	if ctx, err = way.pass(ctx, call); err != nil {
		s.logDenial(ctx, info.FullMethod, err)
		return nil, err
	}
	return handler(ctx, req)
}

// stream is the [grpc.StreamServerInterceptor] of a filter chain.
func (s *chainServer) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	ctx := ss.Context()
	way, err := s.choose(info.FullMethod, headers{ctx})
	if err != nil {
		return err
	}
	defer way.filters.Release()
	if way.filters.Idle() && way.end == nil {
		return handler(srv, ss)
	}
	call := s.newCall(ctx, info.FullMethod)
	call.ClientStreams, call.ServerStreams = info.IsClientStream, info.IsServerStream
	defer func() { call.Done(err) }()
	if way.filters.Messages() {
		return s.filterStream(ctx, way, call, ss, func(ss grpc.ServerStream) error { return handler(srv, ss) })
	}
	if ctx, err = way.pass(ctx, call); err != nil {
		s.logDenial(ctx, info.FullMethod, err)
		return err
	}
	return handler(srv, withContext(ss, ctx))
}

// logDenial logs a call that a policy of a filter denies.
func (s *chainServer) logDenial(ctx context.Context, method string, err error) {
	if !s.logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	var denied interface{ DeniedBy() string }
	if errors.As(err, &denied) {
		s.logger.Debug("RBAC denied a call", "method", printable.Text(method, printable.Short), "policy", printable.Text(denied.DeniedBy(), printable.Short))
	}
}

// newCall returns the call for the filters.
func (s *chainServer) newCall(ctx context.Context, method string) *httpfilter.ServerCall {
	call := &httpfilter.ServerCall{Method: method, LocalCertificate: s.certificate}
	call.Metadata, _ = metadata.FromIncomingContext(ctx)
	if p, ok := peer.FromContext(ctx); ok {
		call.Local, call.Remote, call.AuthInfo = p.LocalAddr, p.Addr, p.AuthInfo
	}
	return call
}

// withContext returns a stream with the context of the filters.
func withContext(ss grpc.ServerStream, ctx context.Context) grpc.ServerStream { //nolint:revive // it is the stream's context
	if ctx == ss.Context() {
		return ss
	}
	return contextStream{ss, ctx}
}

type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements [grpc.ServerStream].
func (s contextStream) Context() context.Context { return s.ctx }
