package fakeextproc

import (
	"errors"
	"fmt"
	"io"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Mirror is a processor that returns events unchanged. It obeys the windows of the filter, and ends the stream with an error if
// the filter breaks its own (gRFC A93).
type Mirror struct {
	// Change, if set, changes the responses to an event. It may return any number.
	Change func(*extprocv3.ProcessingRequest, *extprocv3.ProcessingResponse) []*extprocv3.ProcessingResponse
	// Hold keeps the bytes of messages from being returned to the filter's windows.
	Hold bool

	request, response side
	began             bool
}

// A side has the windows of a direction, and the responses that wait for one.
type side struct {
	window, credit int64 // of the filter, and of the mirror
	pending        []*extprocv3.ProcessingResponse
}

// Process handles a stream.
func (m *Mirror) Process(stream Stream) error {
	for {
		in, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			if n := len(m.request.pending) + len(m.response.pending); n > 0 {
				return status.Errorf(codes.Internal, "%d responses have no window at the half-close", n)
			}
			return nil
		case err != nil:
			return err
		}
		if err := m.receive(stream, in); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	}
}

func (m *Mirror) receive(stream Stream, in *extprocv3.ProcessingRequest) error {
	if !m.began {
		m.began = true
		f := in.GetFlowControlInit()
		if in.GetProtocolConfig() == nil || (f == nil) != in.GetObservabilityMode() {
			return fmt.Errorf("the first event is %v; want protocol_config, and flow_control_init without observability_mode", in)
		}
		m.request = side{window: f.GetInitialWindowDownstreamToSidestream(), credit: f.GetInitialWindowSidestreamToUpstream()}
		m.response = side{window: f.GetInitialWindowUpstreamToSidestream(), credit: f.GetInitialWindowSidestreamToDownstream()}
	}
	m.request.credit += in.GetClientWindowUpdate().GetWindowIncrementSidestreamToUpstream()
	m.response.credit += in.GetClientWindowUpdate().GetWindowIncrementSidestreamToDownstream()
	if !in.GetObservabilityMode() {
		if err := m.answer(in); err != nil {
			return err
		}
	}
	if err := m.flush(stream, &m.request); err != nil {
		return err
	}
	return m.flush(stream, &m.response)
}

// answer adds the responses to an event.
func (m *Mirror) answer(in *extprocv3.ProcessingRequest) error {
	out, s := Reply(in), &m.request
	if in.GetResponseHeaders() != nil || in.GetResponseBody() != nil || in.GetResponseTrailers() != nil {
		s = &m.response
	}
	if out == nil {
		return nil
	}
	if n := size(out); n > 0 {
		if s.window <= 0 {
			return fmt.Errorf("the filter sends %d bytes, but its window is %d", n, s.window)
		}
		s.window -= n
	}
	list := []*extprocv3.ProcessingResponse{out}
	if m.Change != nil {
		list = m.Change(in, out)
	}
	s.pending = append(s.pending, list...)
	return nil
}

// flush sends the responses of a direction while its window allows that. It returns their bytes to the filter's window.
func (m *Mirror) flush(stream Stream, s *side) error {
	for len(s.pending) > 0 {
		out, n := s.pending[0], size(s.pending[0])
		if n > 0 && s.credit <= 0 {
			return nil
		}
		s.credit -= n
		s.pending = s.pending[1:]
		if n > 0 && !m.Hold {
			s.window += n
			out.ServerWindowUpdate = new(extprocv3.ProcessingResponse_ServerWindowUpdate)
			if s == &m.request {
				out.ServerWindowUpdate.WindowIncrementDownstreamToSidestream = n
			} else {
				out.ServerWindowUpdate.WindowIncrementUpstreamToSidestream = n
			}
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
	return nil
}

// size returns the bytes of the message in a response.
func size(m *extprocv3.ProcessingResponse) int64 {
	return int64(len(Message(m).GetBody()))
}

// Message returns the message in a response, or nil.
func Message(m *extprocv3.ProcessingResponse) *extprocv3.StreamedBodyResponse {
	r := m.GetRequestBody().GetResponse()
	if r == nil {
		r = m.GetResponseBody().GetResponse()
	}
	return r.GetBodyMutation().GetStreamedResponse()
}

// Reply returns the response that passes an event on unchanged, or nil for a window update.
func Reply(in *extprocv3.ProcessingRequest) *extprocv3.ProcessingResponse {
	body := func(b *extprocv3.HttpBody) *extprocv3.BodyResponse {
		return &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{
			Mutation: &extprocv3.BodyMutation_StreamedResponse{StreamedResponse: &extprocv3.StreamedBodyResponse{
				Body: b.GetBody(), EndOfStream: b.GetEndOfStream(), EndOfStreamWithoutMessage: b.GetEndOfStreamWithoutMessage(),
				DrainComplete: b.GetDrainComplete(),
			}},
		}}}
	}
	out := new(extprocv3.ProcessingResponse)
	switch r := in.GetRequest().(type) {
	case *extprocv3.ProcessingRequest_RequestHeaders:
		out.Response = &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: new(extprocv3.HeadersResponse)}
	case *extprocv3.ProcessingRequest_ResponseHeaders:
		out.Response = &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: new(extprocv3.HeadersResponse)}
	case *extprocv3.ProcessingRequest_ResponseTrailers:
		out.Response = &extprocv3.ProcessingResponse_ResponseTrailers{ResponseTrailers: new(extprocv3.TrailersResponse)}
	case *extprocv3.ProcessingRequest_RequestBody:
		out.Response = &extprocv3.ProcessingResponse_RequestBody{RequestBody: body(r.RequestBody)}
	case *extprocv3.ProcessingRequest_ResponseBody:
		out.Response = &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: body(r.ResponseBody)}
	default:
		return nil
	}
	return out
}
