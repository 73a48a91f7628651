package routing

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// maxReplay is the limit of message bytes that a stream keeps for another attempt, as in grpc-go.
const maxReplay = 256 << 10

// A replay is a stream that is retried if it fails before a header is received. Until then it keeps
// sent messages, and sends them again on a retry. After that it is committed and only forwards. It
// detects failures by receiving, and by a message that cannot be sent any more.
type replay struct {
	ctx    context.Context //nolint:containedctx // the call's context, for its attempts
	opts   []grpc.CallOption
	open   func(context.Context, []grpc.CallOption) (grpc.ClientStream, error)
	finish func(error) // runs once
	limit  int

	headerWait sync.Mutex // held while waiting for the header
	again      sync.Mutex // held to retry or commit; locked after headerWait
	tries      *tries     // guarded by again

	mu        sync.Mutex // guards the fields below; locked last
	replaced  sync.Cond  // of mu: stream has changed, or committed
	stream    grpc.ClientStream
	attempt   int
	over      bool // the attempt has ended with overErr
	overErr   error
	committed bool
	err       error // the result of the call, if the stream cannot return it
	sent      []func(grpc.ClientStream) error
	size      int
}

// newReplay opens a stream, and retries if that fails.
func newReplay(ctx context.Context, t *tries, opts []grpc.CallOption, open func(context.Context, []grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
	r := &replay{ctx: ctx, tries: t, open: open, limit: maxReplay}
	r.replaced.L = &r.mu
	others, finish := splitFinish(opts)
	var once sync.Once
	r.opts, r.finish = others, func(err error) { once.Do(func() { finish(err) }) }
	for _, o := range opts {
		if m, ok := o.(grpc.MaxRetryRPCBufferSizeCallOption); ok {
			r.limit = m.MaxRetryRPCBufferSize
		}
	}
	t.enter()
	for {
		s, err := r.begin() //nolint:contextcheck // it has ctx
		if err == nil {
			r.use(s)
			return r, nil
		}
		if err = t.again(ctx, err, nil); err != nil {
			r.finish(err)
			return nil, err
		}
	}
}

// begin opens the stream of another attempt. The caller holds again.
func (r *replay) begin() (grpc.ClientStream, error) {
	r.mu.Lock()
	r.attempt++
	r.over, r.overErr = false, nil
	attempt := r.attempt
	r.mu.Unlock()
	ended := grpc.OnFinish(func(err error) { r.attemptEnded(attempt, err) })
	s, err := r.open(r.tries.attempt(r.ctx), append(slices.Clip(r.opts), ended))
	if err != nil {
		r.tries.Picking()
	}
	return s, err
}

// attemptEnded finishes the call when its last attempt ends, even if the program does not read the
// result.
func (r *replay) attemptEnded(attempt int, err error) {
	r.mu.Lock()
	if r.attempt == attempt {
		r.over, r.overErr = true, err
		r.tries.Picking()
	}
	last := r.over && (r.committed || r.ctx.Err() != nil)
	r.mu.Unlock()
	if last {
		r.finish(err)
	}
}

// use sets the current stream. mu is held, or the replay is not shared yet.
func (r *replay) use(s grpc.ClientStream) {
	r.stream = s
	r.replaced.Broadcast()
}

// now returns the current stream.
func (r *replay) now() (s grpc.ClientStream, committed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stream, r.committed, r.err
}

// commit prevents further attempts. The caller holds again. A non-nil error is the result of the
// call.
func (r *replay) commit(err error) {
	r.mu.Lock()
	r.committed, r.sent = true, nil
	if r.err == nil {
		r.err = err
	}
	over, overErr := r.over, r.overErr
	r.replaced.Broadcast()
	r.mu.Unlock()
	switch {
	case err != nil:
		r.finish(eofIsNil(err))
	case over:
		r.finish(overErr)
	}
}

func eofIsNil(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// committedStream waits for a header, and retries as needed. It returns the committed stream, or the result
// of the call.
func (r *replay) committedStream() (grpc.ClientStream, error) {
	if s, committed, err := r.now(); committed {
		return s, err
	}
	r.headerWait.Lock()
	defer r.headerWait.Unlock()
	for {
		s, committed, err := r.now()
		if committed {
			return s, err
		}
		r.await(s)
	}
}

// await waits for a header, which commits the stream, or for the end of the attempt, which is
// retried. The caller holds headerWait.
func (r *replay) await(s grpc.ClientStream) {
	if header, _ := s.Header(); header != nil {
		r.again.Lock()
		r.commit(nil)
		r.again.Unlock()
		return
	}
	// Without a header, no message can be received here.
	r.retry(s, s.RecvMsg(nil))
}

// succeed handles a stream that cannot send because it has ended. It returns when there is another
// one, or none. The result is the error of SendMsg.
func (r *replay) succeed(s grpc.ClientStream) error {
	if r.headerWait.TryLock() {
		if now, committed, _ := r.now(); now == s && !committed {
			r.await(s)
		}
		r.headerWait.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.stream == s && !r.committed {
		r.replaced.Wait() // another goroutine waits for the header
	}
	if r.err != nil {
		return io.EOF // receiving returns the error
	}
	return nil
}

// retry starts another attempt after one has failed with err. Otherwise it ends the call.
func (r *replay) retry(s grpc.ClientStream, err error) {
	r.again.Lock()
	defer r.again.Unlock()
	if _, committed, _ := r.now(); committed {
		r.commit(err) // a message exceeded the limit meanwhile
		return
	}
	trailer := s.Trailer()
	for {
		if err = r.tries.again(r.ctx, err, trailer); err != nil {
			r.commit(err)
			return
		}
		trailer = nil
		if s, err = r.begin(); err != nil {
			continue
		}
		if err = r.resend(s); err == nil {
			return
		}
	}
}

// resend sends the kept messages on a new stream, including those that are added meanwhile. Then it
// makes the stream current. It also does so if the stream is broken, because receiving returns the
// error.
func (r *replay) resend(s grpc.ClientStream) error {
	for i := 0; ; i++ {
		r.mu.Lock()
		if i == len(r.sent) {
			r.use(s)
			r.mu.Unlock()
			return nil
		}
		send := r.sent[i]
		r.mu.Unlock()
		if err := send(s); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// forward sends a message or a close, and keeps it for another attempt. When the kept messages exceed
// the limit, the stream is committed as soon as it has sent them.
func (r *replay) forward(size int, send func(grpc.ClientStream) error) error {
	r.mu.Lock()
	s, committed := r.stream, r.committed
	if !committed {
		r.size += size
		r.sent = append(r.sent, send)
	}
	full := r.size > r.limit
	r.mu.Unlock()
	if committed {
		return send(s)
	}
	switch err := send(s); {
	case errors.Is(err, io.EOF):
		return r.succeed(s)
	case err != nil:
		r.unsendable(s, err)
		return err
	case full:
		r.again.Lock()
		r.commit(nil)
		r.again.Unlock()
	}
	return nil
}

// unsendable ends the call, unless another stream is current by now. gRPC has ended the stream that
// could not send the message.
func (r *replay) unsendable(s grpc.ClientStream, err error) {
	r.again.Lock()
	defer r.again.Unlock()
	if now, committed, _ := r.now(); now == s && !committed {
		r.commit(err)
	}
}

// SendMsg implements [grpc.ClientStream].
func (r *replay) SendMsg(m any) error {
	p, ok := m.(proto.Message)
	if _, committed, _ := r.now(); committed || !ok {
		return r.forward(r.limit+1, func(s grpc.ClientStream) error { return s.SendMsg(m) })
	}
	kept := proto.Clone(p) // the caller may change it afterwards
	return r.forward(proto.Size(p), func(s grpc.ClientStream) error { return s.SendMsg(kept) })
}

// CloseSend implements [grpc.ClientStream].
func (r *replay) CloseSend() error {
	return r.forward(0, func(s grpc.ClientStream) error { return s.CloseSend() })
}

// RecvMsg implements [grpc.ClientStream].
func (r *replay) RecvMsg(m any) error {
	s, err := r.committedStream()
	if err != nil {
		return err
	}
	return s.RecvMsg(m)
}

// Header implements [grpc.ClientStream].
func (r *replay) Header() (metadata.MD, error) {
	s, _ := r.committedStream()
	return s.Header()
}

// Trailer implements [grpc.ClientStream].
func (r *replay) Trailer() metadata.MD {
	s, _, _ := r.now()
	return s.Trailer()
}

// Context implements [grpc.ClientStream].
func (r *replay) Context() context.Context {
	s, _, _ := r.now()
	return s.Context()
}
