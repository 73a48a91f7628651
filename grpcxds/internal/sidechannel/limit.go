package sidechannel

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

var errTimeout = status.Error(codes.DeadlineExceeded, "sidechannel: the service has not answered within the time limit of its configuration")

// A limit is the time limit of a call; 0: none. It learns why the call fails.
type limit struct {
	timeout   time.Duration
	timer     *time.Timer // nil without a limit
	cancel    context.CancelFunc
	channel   grpc.ClientConnInterface
	connected bool // at the begin of the call

	begun, expired, undecodable atomic.Bool
}

// begin starts the time limit again, because the call has a stream. It returns false if the limit has passed.
func (l *limit) begin() bool {
	if l.timer == nil || !l.begun.CompareAndSwap(false, true) {
		return !l.expired.Load()
	}
	if !l.timer.Stop() {
		l.begun.Store(false)
		l.expired.Store(true) // the timer's function may not have run
		return false
	}
	l.timer.Reset(l.timeout)
	return true
}

// end ends the call.
func (l *limit) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.cancel()
}

// explain returns the error of a call. A connected channel has no stream because of other calls. It may connect again at the end.
func (l *limit) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case l.undecodable.Load():
		return undecodableError{status.Convert(err)}
	case !l.expired.Load():
		return err
	case !l.begun.Load() && (l.connected || Connected(l.channel)):
		return crowdedError{}
	}
	return errTimeout
}

// codec returns the option of a call.
func (l *limit) codec() []grpc.CallOption {
	return []grpc.CallOption{grpc.ForceCodecV2(codec{encoding.GetCodecV2("proto"), l})}
}

// A codec is that of a call. gRPC encodes the request of a unary call after it has got a stream, so that the limit learns this moment.
type codec struct {
	encoding.CodecV2
	limit *limit
}

// Marshal implements [encoding.CodecV2].
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	c.limit.begin()
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	err := c.CodecV2.Unmarshal(data, v)
	if err != nil {
		c.limit.undecodable.Store(true)
	}
	return err
}

// Name implements [encoding.CodecV2]. The content type of the call stays application/grpc.
func (codec) Name() string { return "" }

// A limitedStream has the errors of its limit.
type limitedStream struct {
	grpc.ClientStream
	limit *limit
}

// RecvMsg implements [grpc.ClientStream].
func (s limitedStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return s.limit.explain(err)
	}
	return nil
}

// Header implements [grpc.ClientStream].
func (s limitedStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil {
		err = s.limit.explain(err)
	}
	return md, err
}

// A limited context has the deadline that the service receives. Another one ends it.
type limited struct {
	context.Context
	deadline time.Time
}

// Deadline implements [context.Context].
func (c limited) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}
