package extproc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A clientFilter sends the events of a channel's calls to the processor.
type clientFilter struct{ *processor }

// NewStream implements [httpfilter.ClientInterceptor]. The rest of the call may begin later: the program can send messages
// before the processor has answered to the headers.
func (f *clientFilter) NewStream(ctx context.Context, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	begun := time.Now()
	md, _ := metadata.FromOutgoingContext(ctx)
	x, inner := f.newExchange(ctx, func() *facts { return &facts{method: call.Method, headers: md} })
	x.response.most = call.MaxReceive
	call.OnDone(func(error) { x.end() })
	s := &clientStream{exchange: x, ctx: inner, call: call, begin: next}
	if !f.config.Modes.RequestHeaders {
		if err := s.open(inner, begun); err != nil {
			return nil, s.startError(err)
		}
		if f.config.Modes.RequestMessages && !f.config.ObservabilityMode {
			go s.forward()
		}
		return s, nil
	}
	if err := x.offerHeaders(&x.request, &x.request.headers, x.requestHeaders(md)); err != nil {
		return nil, s.startError(err)
	}
	if f.config.ObservabilityMode {
		if err := s.open(inner, begun); err != nil {
			return nil, s.startError(err)
		}
		return s, nil
	}
	go func() { //nolint:contextcheck // the stream has the context of the call
		if s.proceed(md, begun) == nil && f.config.Modes.RequestMessages {
			s.forward()
		}
	}()
	return s, nil
}

// A clientStream is the stream of a call on a channel. The rest of the call is the stream rest.
type clientStream struct {
	*exchange
	ctx   context.Context //nolint:containedctx // of the rest of the call
	call  *httpfilter.ClientCall
	begin httpfilter.ClientNext

	headerOnce, pumpOnce sync.Once

	// The mutex of the exchange guards the fields below.
	rest            grpc.ClientStream
	closing         time.Time   // the time of the half-close
	final           error       // the result of the call, if not nil; io.EOF is OK
	pumped          bool        // the pump has ended
	early           error       // the status of a response without headers
	head            metadata.MD // the headers of the response, or its only trailers
	received        time.Time   // the time of head
	settled         bool        // header, or trailer if there is only that, is set
	header, trailer metadata.MD
}

// proceed begins the rest of the call after the response to the headers.
func (s *clientStream) proceed(md metadata.MD, begun time.Time) error {
	changed, err := s.await(&s.request.headers, md)
	if err != nil {
		return err
	}
	ctx := s.ctx
	if len(changed) != len(md) || s.request.headers.mutation.changes() {
		ctx = s.call.SetMetadata(ctx, changed)
	}
	if err := s.open(ctx, begun); err != nil {
		s.fail(err)
		return err
	}
	return nil
}

// open begins the rest of the call.
func (s *clientStream) open(ctx context.Context, begun time.Time) error {
	s.metrics.record(ctx, clientHeaders, begun)
	var opts []grpc.CallOption
	if s.config.Modes.RequestMessages && !s.config.ObservabilityMode {
		// The program may forbid the compression of a message. The messages of the processor do not have this property (A93).
		opts = append(opts, grpc.UseCompressor(encoding.Identity))
	}
	rest, err := s.begin(ctx, opts...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = rest
	s.cond.Broadcast()
	return nil
}

// below returns the rest of the call, after it has begun.
func (s *clientStream) below() (grpc.ClientStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.wait(func() bool { return s.rest != nil })
	return s.rest, err
}

// SendMsg implements [grpc.ClientStream].
func (s *clientStream) SendMsg(m any) error {
	if s.config.Modes.RequestMessages {
		raw, err := encode(m)
		if err != nil {
			return err
		}
		s.mu.Lock()
		if s.request.kind == nil {
			s.request.kind = m.(proto.Message).ProtoReflect().Type()
		}
		ignored := s.request.ended
		s.cond.Broadcast()
		s.mu.Unlock()
		if ignored {
			return nil // the processor has half-closed the call (A93)
		}
		if done, err := s.hand(body(raw)); done {
			return err
		}
	}
	rest, err := s.below()
	if err != nil {
		return io.EOF // RecvMsg returns the status
	}
	return rest.SendMsg(m)
}

// CloseSend implements [grpc.ClientStream].
func (s *clientStream) CloseSend() error {
	closing := time.Now()
	if s.config.Modes.RequestMessages {
		s.mu.Lock()
		s.closing = closing
		ignored := s.request.ended
		s.mu.Unlock()
		if ignored {
			return nil
		}
		if done, _ := s.hand(halfClosed()); done {
			return nil // RecvMsg returns the status
		}
	}
	rest, err := s.below()
	if err != nil {
		return nil //nolint:nilerr // RecvMsg returns the status
	}
	s.metrics.record(s.ctx, clientHalfClose, closing)
	return rest.CloseSend()
}

// hand sends a message or the half-close to the processor. It returns false if the filter must pass it on itself.
func (s *clientStream) hand(m *messageEvent) (bool, error) {
	sent, err := s.offerMessage(&s.request, m)
	switch {
	case err != nil:
		return true, io.EOF // RecvMsg returns the status
	case s.config.ObservabilityMode:
		return false, nil
	case sent:
		return true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wait(func() bool { return s.forwarded }) != nil {
		return true, io.EOF
	}
	return s.request.ended, nil
}

// forward passes the messages of the processor on, until messages pass the filter.
func (s *clientStream) forward() {
	defer s.setForwarded()
	rest, err := s.below()
	if err != nil {
		return
	}
	if s.passOn(&s.request, rest.SendMsg, func() bool { return s.passes(&s.request) || s.request.ended }) {
		s.mu.Lock()
		closing := s.closing
		s.mu.Unlock()
		if !closing.IsZero() {
			s.metrics.record(s.ctx, clientHalfClose, closing)
		}
		_ = rest.CloseSend()
	}
}

// Context implements [grpc.ClientStream].
func (s *clientStream) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest == nil {
		return s.ctx
	}
	return s.rest.Context()
}

// unary reports whether headers are received together with the only message.
func (s *clientStream) unary() bool { return !s.call.ClientStreams && !s.call.ServerStreams }

// statusOf returns the result of a call, which is over. A failure of the filter has precedence.
func (s *clientStream) statusOf(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != failed {
		return err
	}
	if s.immediate != nil && s.trailer == nil {
		s.trailer = s.immediate.apply(nil)
	}
	if errors.Is(s.err, errEndOK) {
		return io.EOF
	}
	return s.err
}

// startError returns the error of NewStream.
func (s *clientStream) startError(err error) error {
	if err = s.statusOf(err); errors.Is(err, io.EOF) {
		return httpfilter.ErrEnd
	}
	return err
}

// errMessages is the status of a call whose processor sends several messages in place of one.
var errMessages = status.Error(codes.Internal, "extproc: the processor sends two messages of a server that may send one")
