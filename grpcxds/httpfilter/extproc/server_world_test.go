package extproc_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extproc"
)

// A contextStream is a stream with the context of the filter.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // the result of Context
}

// Context implements [grpc.ServerStream].
func (s contextStream) Context() context.Context { return s.ctx }

// server begins a call to a server with the filter.
func (w *world) server(config any, md ...string) *clientCall {
	w.Helper()
	return w.serverOf(config, true, true, md...)
}

// serverOf begins a call of a method of which each side may send one message or any number.
func (w *world) serverOf(config any, clientStreams, serverStreams bool, md ...string) *clientCall {
	w.Helper()
	host := w.host()
	host.Target = ""
	instance, err := extproc.Filter().NewServer(host)
	if err != nil {
		w.Fatal(err)
	}
	i, err := instance.Interceptor(config, nil)
	if err != nil {
		w.Fatal(err)
	}
	c := &clientCall{TB: w.TB, call: new(httpfilter.ClientCall)}
	over := make(chan struct{})
	c.below = doneContext{over}
	handle := func(_ any, s grpc.ServerStream) (err error) {
		defer close(over)
		call := &httpfilter.ServerCall{Method: "/p.S/M", ClientStreams: clientStreams, ServerStreams: serverStreams}
		defer func() { call.Done(err) }()
		return i.Handle(s.Context(), call, s, func(ctx context.Context, s grpc.ServerStream) error {
			c.sent, _ = metadata.FromIncomingContext(ctx)
			return w.handle(contextStream{s, ctx})
		})
	}
	cc := serveUnknown(w.TB, handle, w.serve, w.dial...)
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	ctx = metadata.AppendToOutgoingContext(ctx, md...)
	c.ClientStream, err = cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/p.S/M", w.options...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		cancel()
		<-over
		_ = i.(io.Closer).Close()
		instance.Close()
	})
	return c
}

// A doneContext is done when the call is over.
type doneContext struct{ over chan struct{} }

func (doneContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c doneContext) Done() <-chan struct{}     { return c.over }
func (doneContext) Err() error                  { return nil }
func (doneContext) Value(any) any               { return nil }

// serveUnknown starts a server whose methods have one handler, and returns a channel to it.
func serveUnknown(t testing.TB, handle grpc.StreamHandler, server []grpc.ServerOption, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(append(server, grpc.UnknownServiceHandler(handle))...)
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	cc, err := grpc.NewClient(lis.Addr().String(), append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}
