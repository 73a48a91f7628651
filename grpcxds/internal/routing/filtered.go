package routing

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
)

var (
	errTwice = status.Error(codes.Internal, "grpcxds: an HTTP filter called next twice")
	errEnded = status.Error(codes.Canceled, "grpcxds: the call has ended")
)

// An opener opens the stream of a call below its filters.
type opener func(ctx context.Context, opts []grpc.CallOption) (grpc.ClientStream, error)

// A filtered is a call with filters that see messages. The filters wrap the stream of the call, which includes
// its retries.
//
// The call ends when the program receives its status, or when its context ends. Then nothing calls the filters any
// more, and the rest of the call is canceled. After the last operation in progress, the filters and the program are
// notified.
type filtered struct {
	call
	desc    *grpc.StreamDesc
	open    opener
	opts    []grpc.CallOption // for the attempts
	unwatch func() bool       // stops watching the context; nil for unary calls
	// The program's options for the whole call.
	finish            func(error)
	headers, trailers []*metadata.MD

	mu      sync.Mutex // guards the fields below
	uses    int        // operations of filters in progress
	over    bool
	aborted bool
	err     error              // the result, if over or aborted
	cancel  context.CancelFunc // cancels the rest of the call; nil: not begun
}

// newFiltered returns a call whose filters have not run.
func newFiltered(x call, desc *grpc.StreamDesc, opts []grpc.CallOption, open opener) *filtered {
	f := &filtered{call: x, desc: desc, open: open}
	f.filters.MaxReceive = receiveLimit(opts)
	f.opts, f.finish = splitFinish(opts)
	f.opts = slices.DeleteFunc(f.opts, func(o grpc.CallOption) bool {
		switch o := o.(type) {
		case grpc.HeaderCallOption: // gRPC would not see the headers of filters
			f.headers = append(f.headers, o.HeaderAddr)
		case grpc.TrailerCallOption:
			f.trailers = append(f.trailers, o.TrailerAddr)
		default:
			return false
		}
		return true
	})
	return f
}

// start runs the filters and returns the stream of the first one. The caller must end the call after an error.
func (f *filtered) start(ctx context.Context) (grpc.ClientStream, error) {
	if !f.enter() {
		return nil, f.err
	}
	defer f.leave() //nolint:contextcheck // recording metrics does not wait
	return f.next(0, nil)(ctx)
}

// next begins the call at the filter with the index i. opts are the options of earlier filters.
func (f *filtered) next(i int, opts []grpc.CallOption) httpfilter.ClientNext {
	return func(ctx context.Context, more ...grpc.CallOption) (grpc.ClientStream, error) {
		all := slices.Concat(opts, more)
		filters := f.chain.Interceptors()
		if i == len(filters) {
			return f.begin(ctx, all)
		}
		return filterchain.Begin(ctx, filters[i], f.filters, f.next(i+1, all))
	}
}

// begin begins the call below its filters.
func (f *filtered) begin(ctx context.Context, opts []grpc.CallOption) (grpc.ClientStream, error) {
	if f.blocked != nil {
		return nil, f.blocked
	}
	f.mu.Lock()
	switch {
	case f.over:
		f.mu.Unlock()
		return nil, errEnded
	case f.cancel != nil:
		f.mu.Unlock()
		return nil, errTwice
	}
	ctx, f.cancel = context.WithCancel(ctx)
	f.uses++
	f.mu.Unlock()
	defer f.leave() //nolint:contextcheck // recording metrics does not wait
	f.settle(ctx)
	return f.open(ctx, withOptions(f.opts, slices.Concat(f.filters.Options(), opts)))
}

// enter begins an operation of the filters. It returns false if the call is over.
func (f *filtered) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return false
	}
	f.uses++
	return true
}

// leave ends an operation.
func (f *filtered) leave() {
	f.mu.Lock()
	f.uses--
	last := f.over && f.uses == 0
	f.mu.Unlock()
	if last {
		f.release()
	}
}

// end ends the call with a status, or nil. Only the first call has an effect.
func (f *filtered) end(err error) {
	f.mu.Lock()
	if f.over {
		f.mu.Unlock()
		return
	}
	f.over = true
	if !f.aborted {
		f.err = err
	}
	last, cancel := f.uses == 0, f.cancel
	f.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if last {
		f.release()
	}
}

// abort cancels the rest of the call before the end of the call. The status, or nil, is the result, unless the call is over. The
// errors of operations that the cancellation ends do not replace it.
func (f *filtered) abort(err error) {
	f.mu.Lock()
	cancel := f.cancel
	if !f.over && !f.aborted {
		f.aborted, f.err = true, err
	}
	f.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (f *filtered) hasAborted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.aborted
}

// release notifies the filters and the program. It runs once.
func (f *filtered) release() {
	if f.unwatch != nil {
		f.unwatch()
	}
	f.call.end(f.err)
	f.finish(f.err)
}

// fill sets the program's headers and trailers from the stream of the first filter.
func (f *filtered) fill(s grpc.ClientStream) {
	if len(f.headers) > 0 {
		md, _ := s.Header()
		for _, h := range f.headers {
			*h = md
		}
	}
	for _, t := range f.trailers {
		*t = s.Trailer()
	}
}

// filterStream makes a streaming call with filters that see messages.
func (c *Interceptors) filterStream(ctx context.Context, x call, desc *grpc.StreamDesc, cc *grpc.ClientConn, opts []grpc.CallOption, open opener) (grpc.ClientStream, error) {
	f := &filteredStream{ctx: ctx}
	f.filtered = newFiltered(x, desc, opts, func(inner context.Context, opts []grpc.CallOption) (grpc.ClientStream, error) {
		inner = c.checkOrder(inner)
		opts = append(opts, grpc.OnFinish(func(err error) { //nolint:contextcheck // recording metrics does not wait
			if err != nil && cc.GetState() == connectivity.Shutdown {
				f.end(err) // the program need not receive any more
			}
		}))
		s, err := f.openLower(inner, opts, open)
		if err != nil {
			return nil, err
		}
		f.lower.ClientStream, f.lower.serverStreams = s, desc.ServerStreams
		return &f.lower, nil
	})
	f.enter()                                                                                      // so that release sees unwatch
	f.unwatch = context.AfterFunc(ctx, func() { f.end(status.FromContextError(ctx.Err()).Err()) }) //nolint:contextcheck // recording metrics does not wait
	f.leave()                                                                                      //nolint:contextcheck // recording metrics does not wait
	s, err := f.start(ctx)
	if err != nil {
		f.end(err)             //nolint:contextcheck // recording metrics does not wait
		return nil, f.result() // the call may have ended while the filters ran
	}
	f.stream = s
	return f, nil
}

// A filteredStream is the stream that the program has.
type filteredStream struct {
	*filtered
	ctx    context.Context //nolint:containedctx // the result of Context after the end
	stream grpc.ClientStream
	lower  lowerStream
	// After the end, header and trailer are those of the filters.
	header, trailer metadata.MD
}

// openLower opens the stream below the filters, which makes the attempts of the call.
func (f *filteredStream) openLower(ctx context.Context, opts []grpc.CallOption, open opener) (grpc.ClientStream, error) {
	if f.tries == nil {
		return open(ctx, opts)
	}
	return newReplay(ctx, f.tries, opts, open)
}

// A lowerStream is the stream below the filters. Before its end, it has no trailer. gRPC permits no look at the trailer then,
// but a filter may fail, or answer by itself, while the stream goes on.
type lowerStream struct {
	grpc.ClientStream
	serverStreams bool
	ended         atomic.Bool
}

// RecvMsg implements [grpc.ClientStream].
func (s *lowerStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil || !s.serverStreams {
		s.ended.Store(true)
	}
	return err
}

// Trailer implements [grpc.ClientStream].
func (s *lowerStream) Trailer() metadata.MD {
	if !s.ended.Load() {
		return nil
	}
	return s.ClientStream.Trailer()
}

// SendMsg implements [grpc.ClientStream].
func (f *filteredStream) SendMsg(m any) error {
	if !f.enter() {
		return io.EOF
	}
	defer f.leave()
	err := f.stream.SendMsg(m)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case f.hasAborted():
		return io.EOF // receiving returns the result
	}
	err = filterchain.StatusOf(err)
	f.end(err)
	return err
}

// CloseSend implements [grpc.ClientStream].
func (f *filteredStream) CloseSend() error {
	if !f.enter() {
		return nil
	}
	defer f.leave()
	return f.stream.CloseSend()
}

// RecvMsg implements [grpc.ClientStream]. It ends the call with the status, or with the only message.
func (f *filteredStream) RecvMsg(m any) error {
	if !f.enter() {
		return f.result()
	}
	defer f.leave()
	err := f.stream.RecvMsg(m)
	switch {
	case err == nil && f.desc.ServerStreams:
		return nil
	case errors.Is(err, io.EOF) && !f.desc.ServerStreams:
		err = filterchain.ErrNoMessage
	case err != nil && !errors.Is(err, io.EOF):
		err = filterchain.StatusOf(err)
	}
	if !f.lower.ended.Load() {
		f.abort(eofIsNil(err)) // the headers that have not come will not come
	}
	f.fill(f.stream)
	header, _ := f.stream.Header()
	trailer := f.stream.Trailer()
	f.mu.Lock()
	f.header, f.trailer = header, trailer
	f.mu.Unlock()
	f.end(eofIsNil(err))
	if err != nil {
		return f.result() // the call may have ended while the program received
	}
	return nil
}

// result returns the result of a call that is over.
func (f *filteredStream) result() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return io.EOF
	}
	return f.err
}

// Header implements [grpc.ClientStream].
func (f *filteredStream) Header() (metadata.MD, error) {
	if !f.enter() {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.header, nil
	}
	defer f.leave()
	return f.stream.Header()
}

// Trailer implements [grpc.ClientStream].
func (f *filteredStream) Trailer() metadata.MD {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trailer
}

// Context implements [grpc.ClientStream].
func (f *filteredStream) Context() context.Context {
	if !f.enter() {
		return f.ctx
	}
	defer f.leave()
	return f.stream.Context()
}
