package extproc

import (
	"errors"
	"fmt"
	"io"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// receive handles the responses of the processor until the stream ends.
func (x *exchange) receive() {
	for {
		m, err := x.stream.Recv()
		x.mu.Lock()
		before := [3]bool{x.drained, x.request.drain == asked, x.response.drain == asked}
		switch {
		case x.phase >= failed || x.config.ObservabilityMode || x.replied: // responses have no effect (A93)
		case err == nil:
			if err = x.handle(m); err != nil {
				x.stopLocked(err)
			}
			if m.GetResponse() != nil || !empty(m) {
				x.heard()
			}
		}
		ended := err != nil
		if ended {
			x.finish(err)
		}
		after := [3]bool{x.drained, x.request.drain == asked, x.response.drain == asked}
		x.mu.Unlock()
		if ended {
			x.cancel()
			x.drop()
			return
		}
		if after != before {
			// The events may wait until the processor reads, and the processor until this loop reads.
			go x.sendEnds()
		}
	}
}

// finish handles the end of the stream. The caller holds the mutex.
func (x *exchange) finish(err error) {
	x.receiving = false
	if x.lingers {
		x.timer.Stop()
		x.depart()
	}
	switch {
	case x.phase > draining:
	case errors.Is(err, io.EOF) && (x.config.ObservabilityMode || x.released()):
		x.phase = passing
	case errors.Is(err, io.EOF) && x.drained:
		x.stopLocked(errors.New("the processor ended a drain before the filter half-closed the stream, and may have kept messages"))
	case errors.Is(err, io.EOF):
		x.stopLocked(errors.New("the processor ended the stream without a drain, and may have kept messages"))
	default:
		x.stopLocked(err)
	}
	x.cond.Broadcast()
}

// handle handles a response. The caller holds the mutex. An error is a violation of the protocol.
func (x *exchange) handle(m *extprocv3.ProcessingResponse) error {
	if u := m.GetServerWindowUpdate(); u != nil {
		if err := x.request.grow("downstream_to_sidestream", u.GetWindowIncrementDownstreamToSidestream()); err != nil {
			return err
		}
		if err := x.response.grow("upstream_to_sidestream", u.GetWindowIncrementUpstreamToSidestream()); err != nil {
			return err
		}
	}
	err := x.respond(m)
	if err == nil && x.phase == live {
		if m.GetRequestDrain() { //nolint:staticcheck // processors of grpc-go 1.85 use this field
			x.phase, x.drained = draining, true
		}
		x.request.ask(m.GetRequestDrainRequests() && x.config.Modes.RequestMessages)
		x.response.ask(m.GetRequestDrainResponses() && x.config.Modes.ResponseMessages)
	}
	x.cond.Broadcast()
	return err
}

func (d *direction) grow(field string, n int64) error {
	if n > maxWindow || n < -maxWindow || d.window+n > maxWindow || d.window+n < -maxWindow {
		return fmt.Errorf("server_window_update.window_increment_%s = %d; must keep the window within %d bytes", field, n, int64(maxWindow))
	}
	d.window += n
	return nil
}

// respond handles the response to an event.
func (x *exchange) respond(m *extprocv3.ProcessingResponse) error {
	switch r := m.GetResponse().(type) {
	case *extprocv3.ProcessingResponse_RequestHeaders:
		return x.answerHeaders("request_headers", &x.request.headers, r.RequestHeaders.GetResponse())
	case *extprocv3.ProcessingResponse_ResponseHeaders:
		return x.answerHeaders("response_headers", &x.response.headers, r.ResponseHeaders.GetResponse())
	case *extprocv3.ProcessingResponse_ResponseTrailers:
		if h := &x.response.headers; h.sent && !h.answered {
			return errors.New("response_trailers; must be sent after response_headers")
		}
		return x.answer("response_trailers", &x.trailers, r.ResponseTrailers.GetHeaderMutation())
	case *extprocv3.ProcessingResponse_RequestBody:
		if !x.config.Modes.RequestMessages {
			return errors.New("request_body; the filter has sent no message of the client")
		}
		return x.receiveMessage("request_body", &x.request, r.RequestBody.GetResponse())
	case *extprocv3.ProcessingResponse_ResponseBody:
		if !x.config.Modes.ResponseMessages {
			return errors.New("response_body; the filter has sent no message of the server")
		}
		if x.trailers.answered {
			return errors.New("response_body; must be sent before response_trailers")
		}
		return x.receiveMessage("response_body", &x.response, r.ResponseBody.GetResponse())
	case *extprocv3.ProcessingResponse_ImmediateResponse:
		return x.endImmediately(r.ImmediateResponse)
	case nil:
		if x.phase == live && empty(m) {
			return errors.New("an empty response; must have a response to an event, a window update that changes a window, or a drain")
		}
		return nil
	default:
		return fmt.Errorf("%T; must be a response to an event that the filter sends", r)
	}
}

// empty reports whether a response has neither a drain nor an update of a window. A processor could let a call wait by such responses.
func empty(m *extprocv3.ProcessingResponse) bool {
	drains := m.GetRequestDrain() || m.GetRequestDrainRequests() || m.GetRequestDrainResponses() //nolint:staticcheck // as in handle
	u := m.GetServerWindowUpdate()
	return u.GetWindowIncrementDownstreamToSidestream() == 0 && u.GetWindowIncrementUpstreamToSidestream() == 0 && !drains
}

func (x *exchange) answerHeaders(field string, r *reply, m *extprocv3.CommonResponse) error {
	if s := m.GetStatus(); s != extprocv3.CommonResponse_CONTINUE {
		return fmt.Errorf("%s.response.status = %v; must be CONTINUE (A93)", field, s)
	}
	return x.answer(field, r, m.GetHeaderMutation())
}

// answer handles the response to an event with headers.
func (x *exchange) answer(field string, r *reply, m *extprocv3.HeaderMutation) error {
	switch {
	case !r.sent:
		return fmt.Errorf("%s; the filter has not sent this event", field)
	case r.answered:
		return fmt.Errorf("%s; must be sent once", field)
	}
	change, err := readMutation(&x.config, m)
	if err != nil {
		return fmt.Errorf("%s.header_mutation.%w", field, err)
	}
	r.mutation, r.answered = change, true
	return nil
}

// receiveMessage adds a message of the processor to those of a direction.
func (x *exchange) receiveMessage(field string, d *direction, r *extprocv3.CommonResponse) error {
	m := r.GetBodyMutation().GetStreamedResponse()
	size := int64(len(m.GetBody()))
	switch {
	case r.GetStatus() != extprocv3.CommonResponse_CONTINUE:
		return fmt.Errorf("%s.response.status = %v; must be CONTINUE (A93)", field, r.GetStatus())
	case m == nil:
		return fmt.Errorf("%s.response.body_mutation.streamed_response; must be set (A93)", field)
	case m.GetGrpcMessageCompressed():
		return fmt.Errorf("%s.response.body_mutation.streamed_response.grpc_message_compressed = true; must be false (A93)", field)
	case d.headers.sent && !d.headers.answered:
		return fmt.Errorf("%s; must be sent after the response to the headers", field)
	case !d.began:
		return fmt.Errorf("%s; the filter has sent no event of this direction", field)
	case d.ended:
		return fmt.Errorf("%s; must not be sent after end_of_stream", field)
	case d.drain == drained:
		return fmt.Errorf("%s; must not be sent after drain_complete", field)
	case m.GetDrainComplete() && d.drain != flushing:
		return fmt.Errorf("%s.response.body_mutation.streamed_response.drain_complete = true; must follow drain_complete of the filter (A93)", field)
	case d == &x.response && m.GetEndOfStream():
		return fmt.Errorf("%s.response.body_mutation.streamed_response.end_of_stream = true; must be false (A93)", field)
	case size > 0 && d.credit <= 0:
		return fmt.Errorf("%s; the message has %d bytes, but the window is exhausted (%d)", field, size, d.credit)
	case len(d.queue) >= maxQueued:
		return fmt.Errorf("%s; %d messages wait for their receiver; must be at most %d", field, len(d.queue), maxQueued)
	case d.most > 0 && size > int64(d.most):
		return fmt.Errorf("%s; the message has %d bytes; must have at most %d, the limit of the call's received messages", field, size, d.most)
	}
	d.credit -= size
	d.received += size
	d.ended = m.GetEndOfStream()
	if m.GetDrainComplete() {
		d.drain = drained
	}
	none := d.ended && m.GetEndOfStreamWithoutMessage() || m.GetDrainComplete() && size == 0
	if d.ended || !none {
		d.queue = append(d.queue, message{body: m.GetBody(), end: d.ended, none: none})
	}
	return nil
}

// endImmediately ends the call with the status of the processor. In response to trailers, it replaces their status.
func (x *exchange) endImmediately(m *extprocv3.ImmediateResponse) error {
	if x.config.DisableImmediateResponse {
		return errors.New("immediate_response; the configuration disables immediate responses")
	}
	change, err := readMutation(&x.config, m.GetHeaders())
	if err != nil {
		return fmt.Errorf("immediate_response.headers.%w", err)
	}
	err = immediateStatus(m)
	x.replied = true
	if r := x.last(); r != nil {
		r.mutation, r.err, r.answered, r.replaced = change, err, true, true
		return nil
	}
	x.immediate = &change
	if err == nil {
		err = errEndOK
	}
	x.failLocked(err)
	return nil
}

// last returns the pending event that ends the response, or nil. Headers are answered before trailers.
func (x *exchange) last() *reply {
	switch h := &x.response.headers; {
	case h.sent && !h.answered && x.only:
		return h
	case h.sent && !h.answered:
		return nil
	case x.trailers.sent && !x.trailers.answered:
		return &x.trailers
	}
	return nil
}

// immediateStatus returns the status of an immediate response. Without one, it is INTERNAL.
func immediateStatus(m *extprocv3.ImmediateResponse) error {
	code := codes.Internal
	if s := m.GetGrpcStatus(); s != nil {
		code = codes.Unknown
		if s.GetStatus() <= uint32(codes.Unauthenticated) {
			code = codes.Code(s.GetStatus())
		}
	}
	text := "extproc: the processor ends the call"
	if m.GetDetails() != "" {
		text = printable.Text(m.GetDetails(), printable.Quoted)
	}
	return status.Error(code, text)
}
