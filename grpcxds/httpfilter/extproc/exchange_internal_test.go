package extproc

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"

	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

// A deafProcessor accepts all events and sends none.
type deafProcessor struct {
	extprocv3.ExternalProcessor_ProcessClient
	ctx context.Context //nolint:containedctx // of the stream
}

// Process implements [extprocv3.ExternalProcessorClient].
func (deafProcessor) Process(ctx context.Context, _ ...grpc.CallOption) (extprocv3.ExternalProcessor_ProcessClient, error) {
	return deafProcessor{ctx: ctx}, nil
}

func (deafProcessor) Send(*extprocv3.ProcessingRequest) error { return nil }
func (deafProcessor) CloseSend() error                        { return nil }

func (p deafProcessor) Recv() (*extprocv3.ProcessingResponse, error) {
	<-p.ctx.Done()
	return nil, io.EOF
}

// A message passes if failure_mode_allow ends the use of the processor while the message waits for an earlier event. gRPC may still
// accept messages for a stream that was canceled.
func TestMessagesPassAfterFailure(t *testing.T) {
	p := &processor{
		config: config.Config{FailureModeAllow: true, Modes: config.Modes{RequestMessages: true}},
		client: deafProcessor{}, release: func() {}, uses: 1,
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
