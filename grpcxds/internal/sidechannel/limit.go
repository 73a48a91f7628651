package sidechannel

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

var errTimeout = status.Error(codes.DeadlineExceeded, "sidechannel: the service has not answered within the time limit of its configuration")

// A limit is the time limit of a unary call. gRPC encodes the request after it has got a stream, so that the codec of the call
// learns this moment.
type limit struct {
	encoding.CodecV2
	timeout time.Duration
	timer   *time.Timer

	begun, expired atomic.Bool
}

// newLimit returns a limit that calls cancel.
func newLimit(timeout time.Duration, cancel context.CancelFunc) *limit {
	l := &limit{CodecV2: encoding.GetCodecV2("proto"), timeout: timeout}
	l.timer = time.AfterFunc(timeout, func() { l.expired.Store(true); cancel() })
	return l
}

// Marshal implements [encoding.CodecV2].
func (l *limit) Marshal(v any) (mem.BufferSlice, error) {
	if l.begun.CompareAndSwap(false, true) && l.timer.Stop() {
		l.timer.Reset(l.timeout)
	}
	return l.CodecV2.Marshal(v)
}

// Name implements [encoding.CodecV2]. The content type of the call stays application/grpc.
func (*limit) Name() string { return "" }

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
