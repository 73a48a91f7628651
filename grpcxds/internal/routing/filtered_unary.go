package routing

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
)

var (
	errTwoMessages = status.Error(codes.Internal, "grpcxds: an HTTP filter sent two messages in a unary call")
	errNoRequest   = status.Error(codes.Internal, "grpcxds: an HTTP filter sent no message in a unary call")
)

// An invoker makes a unary call below its filters.
type invoker func(ctx context.Context, req, reply any, opts []grpc.CallOption) error

// filterUnary makes a unary call with filters that see messages.
func (c *Interceptors) filterUnary(ctx context.Context, x call, req, reply any, opts []grpc.CallOption, invoke invoker) error {
	f := newFiltered(x, &unaryDesc, opts, func(ctx context.Context, opts []grpc.CallOption) (grpc.ClientStream, error) {
		return &unaryStream{ctx: c.checkOrder(ctx), tries: x.tries, opts: opts, invoke: invoke, sent: make(chan struct{})}, nil
	})
	s, err := f.start(ctx)
	if err == nil {
		err = exchange(s, req, reply)
		f.fill(s)
	}
	f.end(err) //nolint:contextcheck // recording metrics does not wait
	return err
}

// exchange makes a unary call by the stream of the first filter.
func exchange(s grpc.ClientStream, req, reply any) error {
	if err := s.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return filterchain.StatusOf(err)
	}
	if err := s.CloseSend(); err != nil {
		return filterchain.StatusOf(err)
	}
	switch err := s.RecvMsg(reply); {
	case errors.Is(err, io.EOF):
		return filterchain.ErrNoMessage
	case err != nil:
		return filterchain.StatusOf(err)
	}
	return nil
}

// A unaryStream is a unary call as a stream. RecvMsg makes the call with the message that was sent.
type unaryStream struct {
	ctx    context.Context //nolint:containedctx // the context of the call
	tries  *tries
	opts   []grpc.CallOption
	invoke invoker

	sent chan struct{} // closed when the client has sent its message, or none

	mu              sync.Mutex // guards the fields below
	request         any
	closed          bool // sent is closed
	received        bool
	err             error // the result, if received
	header, trailer metadata.MD
}

// SendMsg implements [grpc.ClientStream].
func (u *unaryStream) SendMsg(m any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		u.err = errTwoMessages
		return errTwoMessages
	}
	u.request = m
	u.closeSent()
	return nil
}

// CloseSend implements [grpc.ClientStream].
func (u *unaryStream) CloseSend() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		u.closeSent()
	}
	return nil
}

func (u *unaryStream) closeSent() {
	u.closed = true
	close(u.sent)
}

// RecvMsg implements [grpc.ClientStream].
func (u *unaryStream) RecvMsg(m any) error {
	select {
	case <-u.sent:
	case <-u.ctx.Done():
		return status.FromContextError(u.ctx.Err()).Err()
	}
	u.mu.Lock()
	request, again, err := u.request, u.received, u.err
	u.received = true
	u.mu.Unlock()
	switch {
	case err != nil:
		return err
	case again:
		return io.EOF
	case request == nil:
		err = errNoRequest
	default:
		err = u.call(request, m)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.err = err
	return err
}

// call makes the call.
func (u *unaryStream) call(request, reply any) error {
	var header, trailer metadata.MD
	opts := append(u.opts, grpc.Header(&header), grpc.Trailer(&trailer)) //nolint:gocritic // newFiltered has made opts for this call
	var err error
	if u.tries == nil {
		err = u.invoke(u.ctx, request, reply, opts)
	} else {
		err = unary(u.tries, u.ctx, opts, func(ctx context.Context, opts []grpc.CallOption) error {
			return u.invoke(ctx, request, reply, opts)
		})
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.header, u.trailer = header, trailer
	return err
}

// Header implements [grpc.ClientStream]. It returns nil before the end of RecvMsg.
func (u *unaryStream) Header() (metadata.MD, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.header, nil
}

// Trailer implements [grpc.ClientStream].
func (u *unaryStream) Trailer() metadata.MD {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.trailer
}

// Context implements [grpc.ClientStream].
func (u *unaryStream) Context() context.Context { return u.ctx }
