// Package adsgrpc connects the core of an ADS server to gRPC.
package adsgrpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// Register registers the aggregated discovery service for a core. With the options of
// [ServerOptions], the server sends shared bytes without a copy.
func Register(r grpc.ServiceRegistrar, core *adsserver.Core) {
	stream := func(delta bool) grpc.StreamHandler {
		return func(_ any, ss grpc.ServerStream) error { return serve(ss, core, delta) }
	}
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: "envoy.service.discovery.v3.AggregatedDiscoveryService",
		Streams: []grpc.StreamDesc{
			{StreamName: nameOf(transport.MethodADS), Handler: stream(false), ServerStreams: true, ClientStreams: true},
			{StreamName: nameOf(transport.MethodDeltaADS), Handler: stream(true), ServerStreams: true, ClientStreams: true},
		},
		Metadata: "envoy/service/discovery/v3/ads.proto",
	}, nil)
}

// nameOf returns the last part of a method.
func nameOf(method string) string {
	for i := len(method) - 1; i >= 0; i-- {
		if method[i] == '/' {
			return method[i+1:]
		}
	}
	return method
}

// serve serves a stream. The handler's goroutine sends, and another receives.
func serve(ss grpc.ServerStream, core *adsserver.Core, delta bool) error {
	st, err := core.Open(delta)
	if err != nil {
		return asStatus(err)
	}
	ctx, cancel := context.WithCancel(ss.Context())
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer cancel()
		st.Close(receive(ss, st))
	}()
	err = send(ctx, ss, st)
	if errors.Is(err, context.Canceled) {
		<-received // its end is the reason
		_, err = st.Next(context.Background())
	}
	st.Close(err)
	return asStatus(err)
}

// receive passes requests to the stream until it ends, and returns why.
func receive(ss grpc.ServerStream, st *adsserver.Stream) error {
	var f frame
	for {
		if err := ss.RecvMsg(&f); err != nil {
			return err
		}
		err := st.Request(f.received())
		f.release()
		if err != nil {
			return err
		}
	}
}

func send(ctx context.Context, ss grpc.ServerStream, st *adsserver.Stream) error {
	for {
		pieces, err := st.Next(ctx)
		if err != nil {
			return err
		}
		if err := ss.SendMsg(&frame{pieces: pieces}); err != nil {
			return err
		}
	}
}

// asStatus returns the gRPC status for the end of a stream.
func asStatus(err error) error {
	code := codes.Unavailable
	var limit *adsserver.LimitError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &limit):
		code = codes.ResourceExhausted
	case errors.Is(err, adsserver.ErrMalformed):
		code = codes.InvalidArgument
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	default:
		if _, ok := status.FromError(err); ok {
			return err
		}
	}
	return status.Error(code, printable.Text(err.Error(), printable.Quoted))
}
