package extproc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/grpcxds/internal/sidechannel"
)

const (
	// initialWindow is the flow control window of each direction, in bytes of messages.
	initialWindow = 65536
	// maxWindow limits a window that the processor increases.
	maxWindow = 1 << 40
	// fewQueued is the number of waiting messages of one direction at which the filter sends the processor no more messages of the
	// direction. The window limits the bytes of messages, but not the number of empty ones.
	fewQueued = 1000
	// maxQueued limits the waiting messages of one direction. The processor must not multiply empty messages without an end.
	maxQueued = 100_000
	// maxEvent is the limit of an event without its message, in bytes. Clients choose their metadata, and servers of gRPC refuse
	// messages above 4 MiB by default.
	maxEvent = 1 << 20
	// closeTimeout is the time in which the processor may end a stream after the last event.
	closeTimeout = 5 * time.Second
	// maxDeferredClose limits deferred_close_timeout.
	maxDeferredClose = 5 * time.Minute
)

// A phase is the state of an exchange.
type phase int

const (
	live     phase = iota // events are sent to the processor
	draining              // the processor returns the messages it has, and then ends the stream
	passing               // events pass the filter
	failed                // the call fails
	over                  // the call has ended
)

// An exchange is the stream to the processor for one call.
type exchange struct {
	*processor
	ctx      context.Context //nolint:containedctx // of the stream, which may survive the call
	cancel   context.CancelFunc
	abort    context.CancelFunc // cancels the rest of the call
	unwatch  func() bool        // stops watching the context of the call
	describe func() *facts      // for attributes

	connected atomic.Bool // the stream has a connection, or had one

	sending sync.Mutex // one event at a time; guards the fields below
	stream  extprocv3.ExternalProcessor_ProcessClient
	closed  bool // the filter has half-closed the stream

	mu                sync.Mutex // guards the fields below
	cond              sync.Cond  // any of them has changed
	phase             phase
	err               error // the status of the call, if failed
	drained           bool  // the processor has begun to drain the stream
	halfClosed        bool  // the filter has half-closed the stream
	replied           bool  // the processor has sent an immediate response, the last one that counts
	begun             bool  // there is a stream
	receiving         bool  // the receiver runs
	lingers           bool
	timer             *time.Timer // ends a stream that lingers
	request, response direction
	trailers          reply
	only              bool      // the response has only trailers, which are its headers
	forwarded         bool      // the filter has passed on all messages of the processor that it sends itself
	immediate         *mutation // of the trailers of a call that the processor has ended
	silence           silence
}

// A direction has the state of requests or responses.
type direction struct {
	headers    reply
	kind       protoreflect.MessageType // of the messages that the program uses; nil: not known
	began      bool                     // an event was sent, with the attributes
	exposed    bool                     // a message was sent, so that the call cannot continue without the processor
	finished   bool                     // the filter has sent the end
	drain      drain
	window     int64
	credit     int64 // the window of the processor
	unreturned int64 // the bytes of consumed messages that are not in credit again
	sent       int64 // the bytes of all messages
	received   int64 // the bytes of all messages of the processor
	most       int   // the limit of the size of a message of the processor; 0: gRPC's, where the message is sent
	queue      []message
	ended      bool // the processor has sent the end
}

// A message is a message of the processor.
type message struct {
	body []byte
	none bool // there is only an end
	end  bool // the half-close follows
}

// A reply is the response to an event with headers.
type reply struct {
	sent, answered bool
	written        bool // the event is on the stream
	mutation       mutation
	err            error // the status of an immediate response to trailers, unless OK
	replaced       bool  // there is such a status
}

// newExchange returns an exchange without a stream. The caller ends it.
func (p *processor) newExchange(ctx context.Context, describe func() *facts) (*exchange, context.Context) {
	x := &exchange{processor: p, describe: describe}
	x.cond.L = &x.mu
	for _, d := range []*direction{&x.request, &x.response} {
		d.window, d.credit = initialWindow, initialWindow
	}
	inner, abort := context.WithCancel(ctx)
	x.abort = abort
	x.ctx, x.cancel = context.WithCancel(sidechannel.Observe(context.WithoutCancel(ctx), &x.connected))
	if deadline, ok := ctx.Deadline(); ok && !p.config.ObservabilityMode {
		cancel := x.cancel
		var expire context.CancelFunc
		x.ctx, expire = context.WithDeadline(x.ctx, deadline.Add(closeTimeout))
		x.cancel = func() { expire(); cancel() }
	}
	x.unwatch = context.AfterFunc(ctx, func() { x.fail(status.FromContextError(ctx.Err()).Err()) })
	return x, inner
}

// fail ends the call with a status, unless it has ended.
func (x *exchange) fail(err error) {
	x.mu.Lock()
	x.failLocked(err)
	x.mu.Unlock()
}

func (x *exchange) failLocked(err error) {
	if x.phase < failed {
		x.phase, x.err = failed, err
		x.cond.Broadcast()
		x.abort()
		if !x.config.ObservabilityMode || !x.idle() {
			x.cancel()
		}
	}
}

// idle reports whether no goroutine sends an event. An observer may still read the events of a call that has failed.
func (x *exchange) idle() bool {
	idle := x.sending.TryLock()
	if idle {
		x.sending.Unlock()
	}
	return idle
}

// end marks the call as ended. The stream stays open for a time, so that the processor receives all events.
func (x *exchange) end() {
	x.unwatch()
	x.abort()
	linger := closeTimeout
	if x.config.ObservabilityMode {
		linger = min(x.config.DeferredCloseTimeout, maxDeferredClose)
	}
	x.mu.Lock()
	clean := x.receiving && (x.config.ObservabilityMode || x.phase < failed && x.complete())
	x.phase = over
	x.request.queue, x.response.queue = nil, nil
	if t := x.silence.timer; t != nil {
		t.Stop()
	}
	x.cond.Broadcast()
	clean = clean && x.linger()
	if clean {
		x.lingers = true
		x.timer = time.AfterFunc(linger, x.cancel)
	}
	x.mu.Unlock()
	if !clean || !x.halfClose() {
		x.cancel()
	}
}

// complete reports whether the processor has answered all events of the response. Then the call needs nothing more.
func (x *exchange) complete() bool {
	return (!x.response.headers.sent || x.response.headers.answered) && (!x.trailers.sent || x.trailers.answered)
}

// wait waits until ready reports true, or until the call is over. The caller holds the mutex. It returns the status of a call that
// has failed.
func (x *exchange) wait(ready func() bool) error {
	for {
		switch {
		case x.phase == failed:
			return x.err
		case x.phase == over:
			return errOver
		case ready():
			return nil
		}
		x.cond.Wait()
	}
}

var (
	errOver = status.Error(codes.Canceled, "extproc: the call has ended")
	// errEndOK is the status of a call that the processor ends with OK.
	errEndOK = errors.New("extproc: the processor ends the call with OK")
)

// await waits for the answer to an event with headers, and returns the headers to use. It does not change md.
func (x *exchange) await(r *reply, md metadata.MD) (metadata.MD, error) {
	if x.config.ObservabilityMode {
		return md, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.wait(func() bool { return !r.sent || r.answered || x.phase == passing }); err != nil {
		return nil, err
	}
	return r.mutation.apply(md), nil
}
