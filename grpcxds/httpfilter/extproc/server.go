package extproc

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A serverFilter sends the events of a server's calls to the processor.
type serverFilter struct{ *processor }

// Handle implements [httpfilter.ServerInterceptor]. The processor may receive requests before the handler runs, because it need not
// answer to the headers before it has read them.
func (f *serverFilter) Handle(ctx context.Context, call *httpfilter.ServerCall, stream grpc.ServerStream, next httpfilter.ServerNext) error {
	begun := time.Now()
	md, _ := metadata.FromIncomingContext(ctx)
	x, inner := f.newExchange(ctx, func() *facts { return serverFacts(call, md) })
	defer x.end()
	s := &serverStream{ServerStream: stream, exchange: x, ctx: inner, call: call}
	if f.processes(f.config.Modes.ResponseMessages) {
		// The handler may forbid the compression of a message. The messages of the processor do not have this property (A93). A
		// transport without compression returns an error.
		_ = grpc.SetSendCompressor(ctx, encoding.Identity)
	}
	return s.result(s.handle(md, begun, next))
}

// processes reports whether the messages of a mode are those that the processor returns.
func (p *processor) processes(mode bool) bool { return mode && !p.config.ObservabilityMode }

// A serverStream is the stream of a call that a server receives, as later filters and the handler see it.
type serverStream struct {
	grpc.ServerStream
	*exchange
	ctx  context.Context //nolint:containedctx // of the rest of the call
	call *httpfilter.ServerCall

	headOnce, settleOnce, closeOnce sync.Once
	headErr, settleErr              error // the results of headOnce and settleOnce

	// The mutex of the exchange guards the fields below.
	pulled   bool        // the pump has received a request, or the end
	pumped   bool        // the pump has ended
	incoming error       // the error after the requests, io.EOF for the half-close; nil: the stream has more
	closing  time.Time   // the time of the half-close
	headed   bool        // the headers were offered
	explicit bool        // the headers are sent before the first message
	received time.Time   // the time of the headers
	header   metadata.MD // of the handler
	trailer  metadata.MD // of the handler
}

// handle runs the rest of the call after the response to the headers, and ends its response.
func (s *serverStream) handle(md metadata.MD, begun time.Time, next httpfilter.ServerNext) error {
	modes := &s.config.Modes
	if modes.RequestHeaders {
		if err := s.offerHeaders(&s.request, &s.request.headers, s.requestHeaders(md)); err != nil {
			return err
		}
	}
	if s.processes(modes.RequestMessages) {
		go s.pump()
	}
	changed, err := s.await(&s.request.headers, md)
	if err != nil {
		return err
	}
	if s.request.headers.mutation.changes() {
		s.ctx = s.call.SetMetadata(s.ctx, changed)
	}
	s.metrics.record(s.ctx, clientHeaders, begun)
	return s.finish(next(s.ctx, s))
}

// Context implements [grpc.ServerStream].
func (s *serverStream) Context() context.Context { return s.ctx }

// result returns the status of the call. A failure of the filter has precedence.
func (s *serverStream) result(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != failed {
		return err
	}
	if s.immediate != nil {
		s.ServerStream.SetTrailer(s.immediate.apply(nil))
	}
	if errors.Is(s.err, errEndOK) {
		return nil
	}
	return s.err
}

// refused returns the error of an operation of the handler. The call ends with another status.
func refused(err error) error {
	if errors.Is(err, errEndOK) {
		return errOver
	}
	return err
}
