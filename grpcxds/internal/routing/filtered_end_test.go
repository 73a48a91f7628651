package routing_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// TestStreamAfterItsEnd expects a filtered stream to keep its headers and trailers after its end, when its filter is closed.
func TestStreamAfterItsEnd(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	type key struct{}
	s.newStream = func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
		inner, err := next(context.WithValue(ctx, key{}, "of the filter"))
		return &spyStream{inner, &spyInterceptor{spyInstance: &spyInstance{spy: s}}}, err
	}
	stream, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.Trailer(); got != nil {
		t.Errorf("the trailer before the end is %v", got)
	}
	if got := stream.Context().Value(key{}); got != "of the filter" {
		t.Errorf("the context of the stream has %v, want the value of the filter", got)
	}
	if err := errors.Join(stream.SendMsg(wrapperspb.String("?")), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	m := new(wrapperspb.StringValue)
	if err := stream.RecvMsg(m); err != nil || m.GetValue() != "[?+t]-" {
		t.Fatalf("the message is %q, %v", m.GetValue(), err)
	}
	check := func(when string) {
		t.Helper()
		header, err := stream.Header()
		if err != nil || !slices.Equal(header["of-filter"], []string{"header"}) || !slices.Equal(header["of-server"], []string{"header"}) {
			t.Errorf("%s, the header is %v, %v; want that of the server and of the filter", when, header, err)
		}
	}
	check("before the end")
	if err := stream.RecvMsg(m); !errors.Is(err, io.EOF) {
		t.Fatalf("the stream ends with %v", err)
	}
	check("after the end")
	if got := stream.Trailer(); !slices.Equal(got["of-filter"], []string{"trailer"}) || !slices.Equal(got["of-server"], []string{"trailer"}) {
		t.Errorf("the trailer is %v, want that of the server and of the filter", got)
	}
	if stream.Context() == nil || stream.CloseSend() != nil || !errors.Is(stream.SendMsg(m), io.EOF) || !errors.Is(stream.RecvMsg(m), io.EOF) {
		t.Error("after its end, the stream must have a context, and send and receive nothing")
	}
}

// TestStreamThatFailsToSend expects the error of a filter to end the call.
func TestStreamThatFailsToSend(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	for _, tt := range []struct {
		send error
		want codes.Code
	}{
		{errors.New("plain"), codes.Unknown},
		{status.Error(codes.DataLoss, "lost"), codes.DataLoss},
	} {
		s.newStream = func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
			inner, err := next(metadata.AppendToOutgoingContext(ctx, "spy", "1"))
			return failingSender{inner, tt.send}, err
		}
		stream, err := w.open(soon(t), "/p.S/M")
		if err != nil {
			t.Fatal(err)
		}
		sent := stream.SendMsg(wrapperspb.String("?"))
		received := stream.RecvMsg(new(wrapperspb.StringValue))
		if status.Code(sent) != tt.want || status.Code(received) != tt.want {
			t.Errorf("a filter that fails with %v: the program sends with %v and receives %v; want %v", tt.send, sent, received, tt.want)
		}
	}
}

// TestStreamThatFailsToReceive expects the error of a filter to end the call, with a status. The server is silent: the program
// must not wait for its headers, whether the route has retries or not.
func TestStreamThatFailsToReceive(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	for _, tt := range []struct {
		route   string
		receive error
		want    codes.Code
	}{
		{"", context.DeadlineExceeded, codes.DeadlineExceeded},
		{"", status.Error(codes.DataLoss, "lost"), codes.DataLoss},
		{`retry_policy { retry_on: "cancelled,unavailable" num_retries { value: 4 } }`, status.Error(codes.Unavailable, "lost"), codes.Unavailable},
	} {
		w.manageSpy(tt.route)
		s.newStream = func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
			inner, err := next(metadata.AppendToOutgoingContext(ctx, "spy", "1"))
			return failingReceiver{inner, tt.receive}, err
		}
		stream, err := w.open(soon(t), "/p.S/M")
		if err != nil {
			t.Fatal(err)
		}
		first, second := stream.RecvMsg(new(wrapperspb.StringValue)), stream.RecvMsg(new(wrapperspb.StringValue))
		if status.Code(first) != tt.want || status.Code(second) != tt.want {
			t.Errorf("a filter that fails with %v: the program receives %v, and then %v; want %v", tt.receive, first, second, tt.want)
		}
	}
}

// TestStreamThatFailsToReceiveWhileItSends expects the error of a filter to be the result of the call. It cancels the rest of the
// call, which makes a message fail that is being sent. Neither that error nor a late end of the context must replace the result.
func TestStreamThatFailsToReceiveWhileItSends(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	type key struct{}
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	var stream grpc.ClientStream
	sent := make(chan struct{})
	f := blockedSender{sending: make(chan struct{}), header: func() {
		<-sent
		cancel()
		for stream.Context().Value(key{}) != nil { // the context is that of the filter until the call is over
			runtime.Gosched()
		}
	}}
	s.newStream = func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
		inner, err := next(context.WithValue(ctx, key{}, true))
		f.ClientStream = inner
		return f, err
	}
	finished := make(chan error, 1)
	var err error
	stream, err = w.open(ctx, "/p.S/M", grpc.OnFinish(func(err error) { finished <- err }))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(sent)
		if err := stream.SendMsg(wrapperspb.String("?")); !errors.Is(err, io.EOF) {
			t.Errorf("the message that is being sent fails with %v, want EOF", err)
		}
	}()
	first, second := stream.RecvMsg(new(wrapperspb.StringValue)), stream.RecvMsg(new(wrapperspb.StringValue))
	if status.Code(first) != codes.DataLoss || status.Code(second) != codes.DataLoss {
		t.Errorf("the program receives %v, and then %v; want %v", first, second, codes.DataLoss)
	}
	if err := <-finished; status.Code(err) != codes.DataLoss {
		t.Errorf("the call finishes with %v; want %v", err, codes.DataLoss)
	}
	if got, want := s.take(), []string{"done DataLoss"}; !slices.Equal(got, want) {
		t.Errorf("the filter has the events %q; want %q", got, want)
	}
}

// A blockedSender sends no message before the rest of the call is canceled. It fails to receive meanwhile.
type blockedSender struct {
	grpc.ClientStream
	sending chan struct{}
	header  func() // is called before its headers are read
}

func (s blockedSender) SendMsg(any) error {
	close(s.sending)
	<-s.ClientStream.Context().Done()
	return status.FromContextError(s.ClientStream.Context().Err()).Err()
}

func (s blockedSender) RecvMsg(any) error {
	<-s.sending
	return status.Error(codes.DataLoss, "lost")
}

func (s blockedSender) Header() (metadata.MD, error) {
	s.header()
	return s.ClientStream.Header()
}

type failingReceiver struct {
	grpc.ClientStream
	err error
}

func (s failingReceiver) RecvMsg(any) error { return s.err }

type failingSender struct {
	grpc.ClientStream
	err error
}

func (s failingSender) SendMsg(any) error { return s.err }

// TestStreamThatFailsToSendWhileItReceives expects the program to receive the error of a filter that has ended the call, instead of
// the end of the rest of the call.
func TestStreamThatFailsToSendWhileItReceives(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	receiving := make(chan struct{})
	s.newStream = func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
		inner, err := next(ctx)
		return receiver{failingSender{inner, status.Error(codes.DataLoss, "lost")}, receiving}, err
	}
	stream, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan error)
	go func() { received <- stream.RecvMsg(new(wrapperspb.StringValue)) }()
	<-receiving
	sent := stream.SendMsg(wrapperspb.String("?"))
	if err := <-received; status.Code(sent) != codes.DataLoss || status.Code(err) != codes.DataLoss {
		t.Errorf("the program sends with %v and receives %v; want %v", sent, err, codes.DataLoss)
	}
}

// A receiver tells when it receives.
type receiver struct {
	failingSender
	receiving chan<- struct{}
}

func (r receiver) RecvMsg(m any) error {
	close(r.receiving)
	return r.failingSender.RecvMsg(m)
}
