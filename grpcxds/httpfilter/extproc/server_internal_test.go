package extproc

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

// A slowStream has one request, and reads it after release is closed.
type slowStream struct {
	grpc.ServerStream
	release  chan struct{}
	received bool
	calls    atomic.Int32 // of RecvMsg
}

// RecvMsg implements [grpc.ServerStream].
func (s *slowStream) RecvMsg(any) error {
	s.calls.Add(1)
	<-s.release
	if s.received {
		return io.EOF
	}
	s.received = true
	return nil
}

// The handler of a unary call receives a message into the one that the filter reads. It waits for the filter if the processor sends
// its message first.
func TestUnaryRequestIsReadFirst(t *testing.T) {
	for _, streams := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := &processor{config: config.Config{Modes: config.Modes{RequestMessages: true}}, release: func() {}, uses: 1}
			x, inner := p.newExchange(t.Context(), nil)
			below := &slowStream{release: make(chan struct{})}
			s := &serverStream{ServerStream: below, exchange: x, ctx: inner, call: &httpfilter.ServerCall{Method: "/p.S/M", ServerStreams: streams}}
			x.request.queue, x.request.ended = []message{{body: []byte("\n\x01b"), end: true}}, true
			go s.pump()
			received := make(chan error, 1)
			m := wrapperspb.String("a")
			go func() { received <- s.RecvMsg(m) }()
			synctest.Wait()
			if waits := len(received) == 0; waits == streams {
				t.Errorf("streams of the server %t: the handler waits %t; want %t", streams, waits, !streams)
			}
			close(below.release)
			if err := <-received; err != nil || m.GetValue() != "b" {
				t.Errorf("streams of the server %t: message %q, %v; want b", streams, m.GetValue(), err)
			}
			x.end()
		})
	}
}

// After the call has failed, a handler that goes on receiving starts no further goroutine: gRPC allows one receiver at a time.
func TestReceiveAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &processor{release: func() {}, uses: 1}
		x, inner := p.newExchange(t.Context(), nil)
		below := &slowStream{release: make(chan struct{})}
		s := &serverStream{ServerStream: below, exchange: x, ctx: inner, call: &httpfilter.ServerCall{Method: "/p.S/M", ClientStreams: true}}
		received := make(chan error)
		go func() { received <- s.RecvMsg(wrapperspb.String("")) }()
		synctest.Wait()
		x.fail(status.Error(codes.Internal, "the processor has failed"))
		first, second := <-received, s.RecvMsg(wrapperspb.String(""))
		synctest.Wait()
		if status.Code(first) != codes.Internal || status.Code(second) != codes.Internal {
			t.Errorf("errors %v and %v; want INTERNAL", first, second)
		}
		if n := below.calls.Load(); n != 1 {
			t.Errorf("the filter receives %d times; want once", n)
		}
		close(below.release)
		x.end()
	})
}
