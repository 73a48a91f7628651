package extproc

import (
	"errors"
	"fmt"
	"math"
	"time"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

var (
	errClosed  = errors.New("the stream takes no more events")
	errWaiting = errors.New("the stream has ended")
	// errTooLarge is the error of headers or attributes that are too large to be sent.
	errTooLarge = errors.New("headers and attributes")
)

// offerHeaders sends an event with headers, unless events pass. r gets the response.
func (x *exchange) offerHeaders(d *direction, r *reply, m *extprocv3.ProcessingRequest) error {
	_, err := x.offer(d, m, 0, func() { r.sent = true })
	x.mu.Lock()
	r.written = true
	x.mu.Unlock()
	if d == &x.response {
		x.completeDrain(d) // the processor may have asked before the headers, which precede messages
	}
	return err
}

// offerMessage sends a message or the half-close. It returns false if it has not sent the message, because events pass.
func (x *exchange) offerMessage(d *direction, m *extprocv3.HttpBody) (sent bool, err error) {
	return x.offer(d, x.messageEvent(d, m), int64(len(m.GetBody())), func() {})
}

// messageEvent returns the event of a message.
func (x *exchange) messageEvent(d *direction, m *extprocv3.HttpBody) *extprocv3.ProcessingRequest {
	if d == &x.request {
		return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestBody{RequestBody: m}}
	}
	return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseBody{ResponseBody: m}}
}

// messageOf returns the message of an event, or nil.
func messageOf(m *extprocv3.ProcessingRequest) *extprocv3.HttpBody {
	if b := m.GetRequestBody(); b != nil {
		return b
	}
	return m.GetResponseBody()
}

// offer sends an event, after the window of its direction allows its size. mark runs before it is sent. It returns false if
// events pass, and an error if the call has failed.
func (x *exchange) offer(d *direction, m *extprocv3.ProcessingRequest, size int64, mark func()) (bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	observed, isMessage := x.config.ObservabilityMode, messageOf(m) != nil
	for {
		err := x.waitToSend(d, isMessage, observed || size == 0)
		switch {
		case err != nil || x.phase == passing:
			return false, err
		case d.ended: // the processor has half-closed the call, which discards further messages (A93)
			return true, nil
		case isMessage && d.drain == drained:
			return false, nil
		}
		mark()
		d.window -= size
		d.sent += size
		m.ObservabilityMode = observed
		first := !d.began
		d.began = true
		x.mu.Unlock()
		if first {
			m.Attributes = x.attributes(d)
		}
		err = x.write(m)
		x.mu.Lock()
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, errClosed): // the phase tells why
			continue
		case !errors.Is(err, errWaiting):
			x.stopLocked(err)
		default: // the receiver gets the status
			if err := x.wait(func() bool { return x.phase == passing }); err != nil {
				return false, err
			}
		}
	}
}

// waitToSend waits until an event can be sent, or need not be. Messages wait while the receiver of their direction is behind, so that the
// processor does not return more than the filter can pass on, and for the window unless they are free. The caller holds the mutex.
func (x *exchange) waitToSend(d *direction, isMessage, free bool) error {
	blocked := false
	err := x.wait(func() bool {
		ready := x.phase == passing || d.ended || isMessage && d.drain == drained || x.phase == live && !isMessage
		stuck := false
		if !ready && x.phase == live && d.drain == undrained && len(d.queue) < fewQueued {
			ready = free || d.window > 0
			stuck = !ready
		}
		x.block(&blocked, stuck)
		return ready
	})
	x.block(&blocked, false)
	return err
}

// block counts a message that waits for the window, or that waits no more.
func (x *exchange) block(counted *bool, now bool) {
	switch {
	case now && !*counted:
		x.silence.blocked++
		x.expect()
	case !now && *counted:
		x.silence.blocked--
		x.settleSilence()
	}
	*counted = now
}

// write sends an event, and creates the stream before the first one. It sends no event above the limit.
func (x *exchange) write(m *extprocv3.ProcessingRequest) error {
	if err := checkSize(m); err != nil {
		return err
	}
	x.mu.Lock()
	x.silence.sends++
	x.expect()
	x.mu.Unlock()
	x.sending.Lock()
	err := x.writeLocked(m)
	x.sending.Unlock()
	x.mu.Lock()
	x.silence.sends--
	x.settleSilence()
	drained := x.drained
	x.mu.Unlock()
	if drained {
		x.halfClose()
	}
	return err
}

// checkSize returns an error if an event without its message is above the limit. The attributes may have the headers again.
func checkSize(m *extprocv3.ProcessingRequest) error {
	b := messageOf(m)
	if b != nil && len(m.GetAttributes()) == 0 {
		return nil
	}
	if n := proto.Size(m) - len(b.GetBody()); n > maxEvent {
		return fmt.Errorf("%w = %d bytes; must have at most %d, so send less metadata or select it by forward_rules and attributes", errTooLarge, n, maxEvent)
	}
	return nil
}

func (x *exchange) writeLocked(m *extprocv3.ProcessingRequest) error {
	if x.closed || !x.open() {
		return errClosed
	}
	if x.stream == nil {
		if err := x.start(); err != nil {
			return err
		}
		x.introduce(m)
	}
	if !x.admits(m) {
		return errClosed
	}
	x.addCredit(m)
	if x.stream.Send(m) != nil {
		return errWaiting
	}
	return nil
}

// open reports whether the stream takes events.
func (x *exchange) open() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.phase < passing
}

// admits reports whether the stream takes an event. If the event is a message, the call cannot continue without the processor from
// now on. After drain_complete, the direction takes no messages.
func (x *exchange) admits(m *extprocv3.ProcessingRequest) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	b, d := messageOf(m), &x.request
	if m.GetRequestBody() == nil {
		d = &x.response
	}
	switch {
	case x.phase >= passing:
		return false
	case b == nil:
		d.finished = d.finished || m.GetResponseHeaders().GetEndOfStream() || m.GetResponseTrailers() != nil
	case b.GetDrainComplete():
		if d.drain != asked || d.finished {
			return false
		}
		d.drain = flushing
	case d.drain >= flushing:
		return false
	default:
		d.exposed, d.finished = true, b.GetEndOfStream()
	}
	return true
}

// start creates the stream. The limits of the call apply to the messages of the processor, not those of the stream.
func (x *exchange) start() error {
	s, err := x.client.Process(x.ctx, grpc.MaxCallRecvMsgSize(math.MaxInt32))
	if err != nil {
		return err
	}
	x.stream = s
	x.use()
	x.mu.Lock()
	x.begun, x.receiving = true, true
	x.silence.since = time.Now() // the time for which the stream waited for others is not the processor's
	x.mu.Unlock()
	go x.receive()
	return nil
}

// introduce adds the parts of the first event (A93).
func (x *exchange) introduce(m *extprocv3.ProcessingRequest) {
	mode := func(send bool) filterv3.ProcessingMode_BodySendMode {
		if send {
			return filterv3.ProcessingMode_GRPC
		}
		return filterv3.ProcessingMode_NONE
	}
	m.ProtocolConfig = &extprocv3.ProtocolConfiguration{
		RequestBodyMode: mode(x.config.Modes.RequestMessages), ResponseBodyMode: mode(x.config.Modes.ResponseMessages),
	}
	if !x.config.ObservabilityMode {
		m.FlowControlInit = &extprocv3.ProcessingRequest_FlowControlInit{
			InitialWindowDownstreamToSidestream: initialWindow, InitialWindowSidestreamToUpstream: initialWindow,
			InitialWindowUpstreamToSidestream: initialWindow, InitialWindowSidestreamToDownstream: initialWindow,
		}
	}
}

// addCredit adds the bytes that were consumed since the last event. It returns false if there are none.
func (x *exchange) addCredit(m *extprocv3.ProcessingRequest) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	up, down := x.request.unreturned, x.response.unreturned
	if up == 0 && down == 0 {
		return false
	}
	x.request.unreturned, x.response.unreturned = 0, 0
	x.request.credit += up
	x.response.credit += down
	m.ClientWindowUpdate = &extprocv3.ProcessingRequest_ClientWindowUpdate{
		WindowIncrementSidestreamToUpstream: up, WindowIncrementSidestreamToDownstream: down,
	}
	return true
}

// consumed reports that a message of the processor was passed on. It sends a window update for half of a window.
func (x *exchange) consumed(d *direction, size int) {
	x.mu.Lock()
	d.unreturned += int64(size)
	update := d.unreturned >= initialWindow/2 && x.phase == live
	x.mu.Unlock()
	if update {
		_ = x.write(new(extprocv3.ProcessingRequest)) // the receiver gets the status of the stream
	}
}

// take returns the next message of the processor. It returns false if there are no more, because events pass or stop reports
// true.
func (x *exchange) take(d *direction, stop func() bool) (message, bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.wait(func() bool { return len(d.queue) > 0 || stop() })
	if err != nil || len(d.queue) == 0 {
		return message{}, false, err
	}
	m := d.queue[0]
	d.queue[0] = message{}
	d.queue = d.queue[1:]
	x.cond.Broadcast() // the receiver may wait
	return m, true, nil
}

// put adds a message that the processor need not see.
func (x *exchange) put(d *direction, body []byte) {
	x.mu.Lock()
	d.queue = append(d.queue, message{body: body})
	x.cond.Broadcast()
	x.mu.Unlock()
}

// requestHeaders returns the event of the client's headers.
func (x *exchange) requestHeaders(md metadata.MD) *extprocv3.ProcessingRequest {
	return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestHeaders{
		RequestHeaders: &extprocv3.HttpHeaders{Headers: x.config.Headers.Headers(md)},
	}}
}

// responseHeaders returns the event of the server's headers. A response that has only trailers ends with them.
func (x *exchange) responseHeaders(md metadata.MD, only bool) *extprocv3.ProcessingRequest {
	return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseHeaders{
		ResponseHeaders: &extprocv3.HttpHeaders{Headers: x.config.Headers.Headers(md), EndOfStream: only},
	}}
}

// responseTrailers returns the event of the server's trailers.
func (x *exchange) responseTrailers(md metadata.MD) *extprocv3.ProcessingRequest {
	return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseTrailers{
		ResponseTrailers: &extprocv3.HttpTrailers{Trailers: x.config.Headers.Headers(md)},
	}}
}

// halfClosed is the event of a half-close without a message.
func halfClosed() *extprocv3.HttpBody {
	return &extprocv3.HttpBody{EndOfStream: true, EndOfStreamWithoutMessage: true}
}

// attributes returns the attributes of a direction, or nil.
func (x *exchange) attributes(d *direction) map[string]*structpb.Struct {
	names := x.config.RequestAttributes
	if d == &x.response {
		names = x.config.ResponseAttributes
	}
	if len(names) == 0 {
		return nil
	}
	return x.describe().attributes(names)
}
