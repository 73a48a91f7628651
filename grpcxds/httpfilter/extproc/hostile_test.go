package extproc_test

import (
	"strings"
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// An immediate response to the server's headers ends the call, although the filter has sent the trailers already. The processor
// keeps the stream open.
func TestImmediateResponseBeforeTrailers(t *testing.T) {
	onBothSides(t, testImmediateResponseBeforeTrailers)
}

func testImmediateResponseBeforeTrailers(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	w.Handle(func(s fakeextproc.Stream) error {
		for {
			in, err := s.Recv()
			if err != nil {
				return err
			}
			out := fakeextproc.Reply(in)
			switch {
			case in.GetResponseHeaders() != nil || in.GetResponseBody() != nil:
				continue // no answer before the trailers
			case in.GetResponseTrailers() != nil:
				out.Response = &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
					GrpcStatus: &extprocv3.GrpcStatus{Status: uint32(codes.PermissionDenied)}, Details: "no",
				}}
			}
			if err := s.Send(out); err != nil {
				return err
			}
		}
	})
	if got, err := w.client(allModes).exchange("a"); got != "" || status.Code(err) != codes.PermissionDenied {
		t.Errorf("%q, %v; want PERMISSION_DENIED", got, err)
	}
}

// A message, or a response to an event, that breaks the protocol makes the call fail with the rule.
func TestMessageViolations(t *testing.T) { onBothSides(t, testMessageViolations) }

func testMessageViolations(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	for _, tt := range []struct {
		want   string
		change func(in *request, out *response) []*response
	}{
		{"request_body.response.body_mutation.streamed_response.grpc_message_compressed = true", func(in *request, out *response) []*response {
			if in.GetRequestBody() != nil {
				fakeextproc.Message(out).GrpcMessageCompressed = true
			}
			return []*response{out}
		}},
		{"response_body.response.body_mutation.streamed_response.end_of_stream = true", func(in *request, out *response) []*response {
			if in.GetResponseBody() != nil {
				fakeextproc.Message(out).EndOfStream = true
			}
			return []*response{out}
		}},
		{"request_body.response.status = CONTINUE_AND_REPLACE", func(in *request, out *response) []*response {
			if in.GetRequestBody() != nil {
				out.GetRequestBody().GetResponse().Status = extprocv3.CommonResponse_CONTINUE_AND_REPLACE
			}
			return []*response{out}
		}},
		{"request_body; must not be sent after end_of_stream", func(in *request, out *response) []*response {
			if in.GetRequestBody() != nil {
				fakeextproc.Message(out).EndOfStream = true
				return []*response{out, out}
			}
			return []*response{out}
		}},
		{"request_headers; must be sent once", func(in *request, out *response) []*response {
			if in.GetRequestHeaders() != nil {
				return []*response{out, out}
			}
			return []*response{out}
		}},
		{"response_trailers; must be sent after response_headers", func(in *request, out *response) []*response {
			if in.GetResponseHeaders() != nil || in.GetResponseBody() != nil {
				return nil
			}
			return []*response{out}
		}},
		{"request_body.response.body_mutation.streamed_response.body: ", func(in *request, out *response) []*response {
			if in.GetRequestBody() != nil {
				fakeextproc.Message(out).Body = []byte{0xff}
			}
			return []*response{out}
		}},
		{"request_body.response.body_mutation.streamed_response.drain_complete = true; must follow drain_complete of the filter", func(in *request, out *response) []*response {
			if in.GetRequestBody() != nil {
				fakeextproc.Message(out).DrainComplete = true
			}
			return []*response{out}
		}},
		{"request_body; must not be sent after drain_complete", func(_ *request, out *response) []*response {
			out.RequestDrainRequests = true
			if fakeextproc.Message(out).GetDrainComplete() {
				return []*response{out, fakeextproc.Reply(&request{Request: &extprocv3.ProcessingRequest_RequestBody{RequestBody: new(extprocv3.HttpBody)}})}
			}
			return []*response{out}
		}},
		{"response_body.response.body_mutation.streamed_response.body: ", func(in *request, out *response) []*response {
			if in.GetResponseBody() != nil {
				fakeextproc.Message(out).Body = []byte{0xff}
			}
			return []*response{out}
		}},
	} {
		w.Handle(changing(tt.change))
		c := w.client(allModes)
		c.say("a")
		if !strings.Contains(tt.want, "after drain_complete") { // after the half-close there is nothing to drain
			_ = c.CloseSend()
		}
		if _, err := c.hear(); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v; want INTERNAL and %s", err, tt.want)
		}
	}
}

// A message follows the response to the trailers. On a server, the call may be over by then. On a client, it is not over before
// the program receives its status.
func TestMessageAfterTrailers(t *testing.T) {
	w := newWorld(t, echo)
	w.Handle(changing(func(in *request, out *response) []*response {
		if in.GetResponseTrailers() != nil {
			return []*response{out, fakeextproc.Reply(&request{Request: &extprocv3.ProcessingRequest_ResponseBody{ResponseBody: new(extprocv3.HttpBody)}})}
		}
		return []*response{out}
	}))
	c := w.client(allModes)
	c.say("a")
	_ = c.CloseSend()
	if err := c.RecvMsg(new(wrapperspb.StringValue)); err == nil {
		<-c.below.Done()
	}
	const want = "response_body; must be sent before response_trailers"
	if _, err := c.hear(); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want INTERNAL and %s", err, want)
	}
}

// After an immediate response, other responses have no effect.
func TestResponsesAfterAnImmediateResponse(t *testing.T) {
	onBothSides(t, testResponsesAfterAnImmediateResponse)
}

func testResponsesAfterAnImmediateResponse(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	w.Handle(changing(func(in *request, out *response) []*response {
		if in.GetResponseTrailers() == nil {
			return []*response{out}
		}
		return []*response{{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
			GrpcStatus: &extprocv3.GrpcStatus{Status: uint32(codes.PermissionDenied)}, Details: "no",
		}}}, out, out}
	}))
	for range 20 { // the call may be over before the filter receives the others
		if _, err := w.client(allModes).exchange("a"); status.Code(err) != codes.PermissionDenied || status.Convert(err).Message() != "no" {
			t.Errorf("%v; want PERMISSION_DENIED and the text of the processor", err)
		}
	}
}
