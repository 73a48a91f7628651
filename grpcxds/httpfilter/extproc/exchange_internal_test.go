package extproc

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

// A mute processor sends no responses. It accepts all events, or calls send if that is not nil.
type mute struct {
	extprocv3.ExternalProcessor_ProcessClient
	ctx  context.Context //nolint:containedctx // of the stream
	send func(context.Context)
}

// Process implements [extprocv3.ExternalProcessorClient].
func (m *mute) Process(ctx context.Context, _ ...grpc.CallOption) (extprocv3.ExternalProcessor_ProcessClient, error) {
	m.ctx = ctx
	return m, nil
}

// Send implements the stream.
func (m *mute) Send(*extprocv3.ProcessingRequest) error {
	if m.send != nil {
		m.send(m.ctx)
	}
	return m.ctx.Err()
}

// CloseSend implements the stream.
func (*mute) CloseSend() error { return nil }

// Recv implements the stream.
func (m *mute) Recv() (*extprocv3.ProcessingResponse, error) {
	<-m.ctx.Done()
	return nil, m.ctx.Err()
}

// An accepting processor accepts events although its stream was canceled, as gRPC may do.
type accepting struct{ *mute }

// Process implements [extprocv3.ExternalProcessorClient].
func (a accepting) Process(ctx context.Context, _ ...grpc.CallOption) (extprocv3.ExternalProcessor_ProcessClient, error) {
	a.ctx = ctx
	return a, nil
}

// Send implements the stream.
func (accepting) Send(*extprocv3.ProcessingRequest) error { return nil }

// A message passes if failure_mode_allow ends the use of the processor while the message waits for an earlier event.
func TestMessagesPassAfterFailure(t *testing.T) {
	p := &processor{
		config: config.Config{FailureModeAllow: true, Modes: config.Modes{RequestMessages: true}},
		client: accepting{new(mute)}, release: func() {}, uses: 1,
	}
	x, _ := p.newExchange(t.Context(), nil)
	defer x.end()
	x.sending.Lock() // another goroutine sends an event
	passes := make(chan bool)
	go func() {
		sent, err := x.offerMessage(&x.request, body([]byte("a")))
		passes <- !sent && err == nil
	}()
	for waits := false; !waits; runtime.Gosched() {
		x.mu.Lock()
		waits = x.request.sent > 0
		x.mu.Unlock()
	}
	x.mu.Lock()
	x.stopLocked(errors.New("the processor has failed"))
	x.mu.Unlock()
	x.sending.Unlock()
	if !<-passes {
		t.Error("the message is lost; want it to pass")
	}
}

// An observed call that fails leaves the stream open for deferred_close_timeout, unless a goroutine waits to send an event.
func TestObservedCancellation(t *testing.T) {
	for _, busy := range []bool{false, true} {
		sending := make(chan struct{})
		m := &mute{send: func(ctx context.Context) {
			close(sending)
			if busy {
				<-ctx.Done()
			}
		}}
		p := &processor{
			config: config.Config{ObservabilityMode: true, DeferredCloseTimeout: time.Minute},
			client: m, release: func() {}, uses: 1,
		}
		x, _ := p.newExchange(t.Context(), nil)
		sent := make(chan struct{})
		go func() {
			_, _ = x.offerMessage(&x.request, body([]byte("a")))
			close(sent)
		}()
		<-sending
		if !busy {
			<-sent
		}
		x.fail(status.Error(codes.Canceled, "the program has canceled the call"))
		<-sent
		x.end()
		if canceled := m.ctx.Err() != nil; canceled != busy {
			t.Errorf("busy %t: the stream is canceled %t; want %t", busy, canceled, busy)
		}
		x.cancel()
	}
}

// A late processor sends an immediate response, and ends the stream.
type late struct {
	*mute
	sent bool
}

// Recv implements the stream.
func (l *late) Recv() (*extprocv3.ProcessingResponse, error) {
	if l.sent {
		return nil, io.EOF
	}
	l.sent = true
	return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{
		ImmediateResponse: &extprocv3.ImmediateResponse{Details: "late"},
	}}, nil
}

// A response that arrives after the call has failed has no effect on its status or its trailers.
func TestResponseAfterFailure(t *testing.T) {
	x, _ := (&processor{release: func() {}, uses: 2}).newExchange(t.Context(), nil)
	defer x.end()
	x.stream, x.receiving = &late{mute: new(mute)}, true
	x.fail(status.Error(codes.Canceled, "the program has canceled the call"))
	x.receive()
	if x.replied || x.immediate != nil || status.Code(x.err) != codes.Canceled {
		t.Errorf("the call ends with %v, and an immediate response %t, %v; want CANCELLED and none", x.err, x.replied, x.immediate)
	}
}

// The stream of a processor fails if it sends more empty messages than may wait. Until then the filter goes on receiving.
func TestEmptyMessagesAreBounded(t *testing.T) {
	p := &processor{config: config.Config{Modes: config.Modes{ResponseMessages: true}}, release: func() {}, uses: 1}
	x, _ := p.newExchange(t.Context(), nil)
	defer x.end()
	x.response.began = true
	empty := func() error {
		return x.receiveMessage("response_body", &x.response, fakeextproc.Reply(&extprocv3.ProcessingRequest{
			Request: &extprocv3.ProcessingRequest_ResponseBody{ResponseBody: body(nil)},
		}).GetResponseBody().GetResponse())
	}
	for i := range maxQueued {
		if err := empty(); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := empty(); err == nil || !strings.Contains(err.Error(), "100000 messages wait") {
		t.Errorf("message %d: %v; want an error with the limit", maxQueued, err)
	}
	if _, ok, err := x.take(&x.response, func() bool { return false }); !ok || err != nil || empty() != nil {
		t.Errorf("take = %t, %v; want a message, and then room for another", ok, err)
	}
}

// A configuration has at most 1000 streams that stay open after their calls.
func TestLingeringStreamsAreBounded(t *testing.T) {
	p := new(processor)
	for i := range maxLingering {
		if !p.linger() {
			t.Fatalf("stream %d may not stay open; want %d", i+1, maxLingering)
		}
	}
	if p.linger() {
		t.Errorf("more than %d streams stay open", maxLingering)
	}
	p.depart()
	if !p.linger() {
		t.Error("a stream may not stay open after another has ended")
	}
}

// A stream that ends with OK lets events pass, unless the processor may have kept a message.
func TestEndsWithOK(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(x *exchange)
		want phase
	}{
		{"nothing was sent", func(*exchange) {}, passing},
		{"a request was sent", func(x *exchange) { x.request.exposed = true }, failed},
		{"a response was sent", func(x *exchange) { x.response.exposed = true }, failed},
		{"a request was sent, and the processor has sent the end", func(x *exchange) { x.request.exposed, x.request.ended = true, true }, passing},
		{"a response was sent, and the processor has answered to the trailers", func(x *exchange) { x.response.exposed, x.trailers.answered = true, true }, passing},
		{"a request was sent without an end, and the processor has answered to the trailers", func(x *exchange) { x.request.exposed, x.trailers.answered = true, true }, passing},
		{"a request was sent, and the processor has answered to the only trailers", func(x *exchange) { x.request.exposed, x.only, x.response.headers.answered = true, true, true }, passing},
		{"a request was sent, and the processor has answered to the headers of the response", func(x *exchange) { x.request.exposed, x.response.headers.answered = true, true }, failed},
		{"requests were drained", func(x *exchange) { x.request.exposed, x.request.drain = true, drained }, passing},
		{"a drain of requests has begun", func(x *exchange) { x.request.exposed, x.request.drain = true, flushing }, failed},
		{"only requests were drained", func(x *exchange) { x.request.exposed, x.request.drain, x.response.exposed = true, drained, true }, failed},
		{"the stream was drained", func(x *exchange) { x.request.exposed, x.phase, x.drained, x.halfClosed = true, draining, true, true }, passing},
		{"the stream ends before the half-close", func(x *exchange) { x.request.exposed, x.phase, x.drained = true, draining, true }, failed},
	} {
		x, _ := (&processor{release: func() {}, uses: 1}).newExchange(t.Context(), nil)
		x.mu.Lock()
		tt.set(x)
		x.finish(io.EOF)
		got := x.phase
		x.mu.Unlock()
		if got != tt.want {
			t.Errorf("%s: phase %d; want %d", tt.name, got, tt.want)
		}
		x.end()
	}
}

// A message that waits for an earlier event is not sent after drain_complete. It passes after the drain.
func TestNoMessageFollowsDrainComplete(t *testing.T) {
	p := &processor{
		config: config.Config{Modes: config.Modes{RequestMessages: true}},
		client: accepting{new(mute)}, release: func() {}, uses: 1,
	}
	x, _ := p.newExchange(t.Context(), nil)
	defer x.cancel()
	defer x.end()
	x.sending.Lock() // the filter sends drain_complete
	passes := make(chan bool)
	go func() {
		sent, err := x.offerMessage(&x.request, body([]byte("a")))
		passes <- !sent && err == nil
	}()
	for waits := false; !waits; runtime.Gosched() {
		x.mu.Lock()
		waits = x.request.sent > 0
		x.mu.Unlock()
	}
	x.mu.Lock()
	x.request.drain = flushing
	x.mu.Unlock()
	x.sending.Unlock()
	x.mu.Lock()
	x.request.drain = drained
	x.cond.Broadcast()
	exposed := x.request.exposed
	x.mu.Unlock()
	if !<-passes || exposed {
		t.Errorf("the message was sent to the processor: %t; want it to pass after the drain", exposed)
	}
}
