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
	connected *atomic.Bool // the call had a connection

	begun, expired, undecodable atomic.Bool
	since                       atomic.Pointer[time.Time] // the time when the call got its stream
}

// begin starts the time limit again, because the call has a stream for the first time. It returns false if the limit has passed.
func (l *limit) begin() bool {
	if l.timer == nil || !l.begun.CompareAndSwap(false, true) || l.since.Load() != nil {
		return !l.expired.Load()
	}
	if !l.timer.Stop() {
		l.begun.Store(false)
		l.expired.Store(true) // the timer's function may not have run
		return false
	}
	now := time.Now()
	l.since.Store(&now)
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

// explain returns the error of a call. A call with a connection has no stream because of other calls. The connection may have ended since.
func (l *limit) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case l.undecodable.Load():
		return undecodableError{status.Convert(err)}
	case !l.expired.Load():
		return err
	case !l.begun.Load() && (l.connected.Load() || Connected(l.channel)):
		return crowdedError{}
	}
	return errTimeout
}

// options returns the options by which the limit observes a call.
func (l *limit) options(token accessToken) []grpc.CallOption {
	return []grpc.CallOption{grpc.PerRPCCredentials(attempts{token, l}), grpc.ForceCodecV2(codec{encoding.GetCodecV2("proto"), l})}
}

// attempts are the credentials of a call. gRPC asks for them before each attempt that has a connection, and that waits for a stream: a
// connection that ends may have refused the last one.
type attempts struct {
	accessToken
	limit *limit
}

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (a attempts) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	a.limit.begun.Store(false)
	a.limit.connected.Store(true)
	if a.accessToken == nil {
		return nil, nil
	}
	return a.accessToken.GetRequestMetadata(ctx, uri...)
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

// A limited context has the deadline that the service receives. The limit ends it. A call that waits may get the stream of another
// connection than the first one, so that the deadline moves until then: the service would otherwise have only the rest of the time.
type limited struct {
	context.Context
	limit *limit
}

// Deadline implements [context.Context].
func (c limited) Deadline() (time.Time, bool) {
	deadline := time.Now()
	if begun := c.limit.since.Load(); begun != nil {
		deadline = *begun
	}
	deadline = deadline.Add(c.limit.timeout)
	if d, ok := c.Context.Deadline(); ok && d.Before(deadline) {
		return d, true
	}
	return deadline, true
}
