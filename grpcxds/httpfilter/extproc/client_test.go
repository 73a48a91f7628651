package extproc_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// set returns a mutation that sets a header and removes another.
func set(name, value, remove string) *extprocv3.HeaderMutation {
	return &extprocv3.HeaderMutation{
		SetHeaders: []*corev3.HeaderValueOption{{
			Header: &corev3.HeaderValue{Key: name, RawValue: []byte(value)}, AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
		RemoveHeaders: []string{remove},
	}
}

// The processor changes headers, messages and trailers of both directions.
func TestChanges(t *testing.T) { onBothSides(t, testChanges) }

func testChanges(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	w.Handle(changing(func(_ *request, out *response) []*response {
		switch r := out.GetResponse().(type) {
		case *extprocv3.ProcessingResponse_RequestHeaders:
			r.RequestHeaders.Response = &extprocv3.CommonResponse{HeaderMutation: set("x-user", "bob", "x-no")}
		case *extprocv3.ProcessingResponse_ResponseHeaders:
			r.ResponseHeaders.Response = &extprocv3.CommonResponse{HeaderMutation: set("x-more", "2", "content-type")}
		case *extprocv3.ProcessingResponse_ResponseTrailers:
			r.ResponseTrailers.HeaderMutation = set("x-trailer", "3", "x-end")
		case *extprocv3.ProcessingResponse_RequestBody:
			if b := fakeextproc.Message(out); !b.GetEndOfStream() {
				raw, _ := proto.Marshal(wrapperspb.String("<" + value(b.GetBody()) + ">"))
				b.Body = raw
			}
		case *extprocv3.ProcessingResponse_ResponseBody:
			if value(fakeextproc.Message(out).GetBody()) == "<b>" {
				return nil // dropped
			}
			return []*response{out, proto.CloneOf(out)}
		}
		return []*response{out}
	}))
	c := w.client(allModes, "x-user", "mallory", "x-no", "1")
	got, err := c.exchange("a", "b", "c")
	if got != "<a>,<a>,<c>,<c>" || err != nil {
		t.Errorf("the program receives %q, %v; want <a> and <c> twice", got, err)
	}
	header, err := c.Header()
	if err != nil || strings.Join(header["x-seen"], ",") != "bob" || strings.Join(header["x-more"], ",") != "2" || !w.onServer && header["content-type"] != nil {
		t.Errorf("the header is %v, %v; want the changes", header, err)
	}
	if md := c.Trailer(); strings.Join(md["x-trailer"], ",") != "3" || md["x-end"] != nil {
		t.Errorf("the trailer is %v; want x-trailer only", md)
	}
	if w.onServer {
		if c.sent["x-no"] != nil || strings.Join(c.sent["x-user"], ",") != "bob" {
			t.Errorf("the handler sees %v; want x-user bob", c.sent)
		}
		return
	}
	if len(c.options) != 1 || c.options[0].(grpc.CompressorCallOption).CompressorType != "identity" {
		t.Errorf("the options of the call are %v; want no compression", c.options)
	}
	if c.sent["x-no"] != nil || strings.Join(c.call.Metadata["x-user"], ",") != "bob" {
		t.Errorf("the rest of the call has %v, and later filters see %v; want x-user bob", c.sent, c.call.Metadata)
	}
}

// The program may read the headers before the messages. Header waits for the processor, and returns the status of a call that
// has failed.
func TestHeaderBeforeMessages(t *testing.T) {
	w := newWorld(t, echo)
	w.Handle(changing(func(_ *request, out *response) []*response {
		if h := out.GetResponseHeaders(); h != nil {
			h.Response = &extprocv3.CommonResponse{HeaderMutation: set("x-more", "2", "content-type")}
		}
		return []*response{out}
	}))
	c := w.client(allModes, "x-user", "bob")
	if md, err := c.Header(); err != nil || strings.Join(md["x-seen"], ",") != "bob" || strings.Join(md["x-more"], ",") != "2" {
		t.Errorf("the header is %v, %v; want the changes", md, err)
	}
	if got, err := c.exchange("a"); got != "a" || err != nil {
		t.Errorf("%q, %v; want a", got, err)
	}
	w.Handle(func(fakeextproc.Stream) error { return status.Error(codes.DataLoss, "full") })
	c = w.client(allModes)
	if md, err := c.Header(); md != nil || status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "full") {
		t.Errorf("the header of a failed call is %v, %v; want INTERNAL and the reason", md, err)
	}
}

// A typed stream records the types of the messages that it sends.
type typed struct {
	grpc.ClientStream
	types chan string
}

// SendMsg implements [grpc.ClientStream].
func (s typed) SendMsg(m any) error {
	s.types <- string(m.(proto.Message).ProtoReflect().Descriptor().FullName())
	return s.ClientStream.SendMsg(m)
}

// Later filters see messages of the program's type. The type is not known if the processor sends a message before the program; the
// server receives its bytes nevertheless.
func TestTypesOfMessages(t *testing.T) {
	w := newWorld(t, echo)
	types := make(chan string, 2)
	w.wrap = func(s grpc.ClientStream) grpc.ClientStream { return typed{s, types} }
	w.Handle(changing(func(in *request, out *response) []*response {
		if in.GetRequestHeaders() != nil {
			return []*response{out, requestOf("first")}
		}
		return []*response{out}
	}))
	c := w.client(`"processing_mode": {"request_body_mode": "GRPC"}`)
	if got := <-types; got != "google.protobuf.Empty" {
		t.Errorf("the message before those of the program is a %s; want a message of unknown fields", got)
	}
	got, err := c.exchange("second")
	if got != "first,second" || err != nil {
		t.Errorf("%q, %v; want first,second", got, err)
	}
	if got := <-types; got != "google.protobuf.StringValue" {
		t.Errorf("the message of the program becomes a %s; want a StringValue", got)
	}
}

// value returns the text of a message.
func value(raw []byte) string {
	m := new(wrapperspb.StringValue)
	if proto.Unmarshal(raw, m) != nil {
		return "invalid"
	}
	return m.GetValue()
}

// Each event is sent as it occurs: the processor may wait for messages before it answers to headers.
func TestEventsAreNotHeldBack(t *testing.T) { onBothSides(t, testEventsAreNotHeldBack) }

func testEventsAreNotHeldBack(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	w.Handle(func(s fakeextproc.Stream) error {
		var held []*response
		m := new(fakeextproc.Mirror)
		m.Change = func(in *request, out *response) []*response {
			held = append(held, out)
			if in.GetRequestHeaders() != nil || in.GetResponseHeaders() != nil {
				return nil
			}
			all := held
			held = nil
			return all
		}
		return m.Process(s)
	})
	if got, err := w.client(allModes).exchange("a"); got != "a" || err != nil {
		t.Errorf("%q, %v; want a", got, err)
	}
}

// Each mode selects its events. The first event of each direction has attributes.
func TestModes(t *testing.T) { onBothSides(t, testModes) }

func testModes(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	for _, tt := range []struct{ modes, want string }{
		{``, "RequestHeaders+request.path ResponseHeaders+request.method"},
		{`"response_trailer_mode": "SEND"`, "RequestHeaders+request.path ResponseHeaders+request.method ResponseTrailers"},
		{`"request_header_mode": "SKIP", "request_body_mode": "GRPC", "response_header_mode": "SKIP"`, "RequestBody+request.path RequestBody"},
		{`"request_header_mode": "SKIP", "response_header_mode": "SKIP", "response_body_mode": "GRPC", "response_trailer_mode": "SEND"`, "ResponseBody+request.method ResponseTrailers"},
		{
			`"request_body_mode": "GRPC", "response_body_mode": "GRPC", "response_trailer_mode": "SEND"`,
			"RequestHeaders+request.path RequestBody RequestBody ResponseHeaders+request.method ResponseBody ResponseTrailers",
		},
	} {
		var mu sync.Mutex
		var events []string
		w.Handle(changing(func(in *request, out *response) []*response {
			event := strings.TrimPrefix(fmt.Sprintf("%T", in.GetRequest()), "*ext_procv3.ProcessingRequest_")
			for name := range in.GetAttributes()["envoy.filters.http.ext_proc"].GetFields() {
				event += "+" + name
			}
			mu.Lock()
			defer mu.Unlock()
			events = append(events, event)
			return []*response{out}
		}))
		c := w.client(`"request_attributes": ["request.path", "unknown"], "response_attributes": ["request.method", "request.scheme"], "processing_mode": {` + tt.modes + `}`)
		if got, err := c.exchange("a"); got != "a" || err != nil {
			t.Errorf("%s: %q, %v; want a", tt.modes, got, err)
		}
		mu.Lock()
		got := slices.Clone(events)
		mu.Unlock()
		// Both directions are independent.
		slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:3], b[:3]) })
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: the processor receives %s; want %s", tt.modes, s, tt.want)
		}
	}
}

// A processor that breaks the protocol makes the call fail, with the rule. If no message was sent, failure_mode_allow lets the
// call continue.
func TestViolations(t *testing.T) { onBothSides(t, testViolations) }

func testViolations(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	headers := func(m *extprocv3.CommonResponse) *response {
		return &response{Response: &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: &extprocv3.HeadersResponse{Response: m}}}
	}
	of := func(direction string, b *extprocv3.StreamedBodyResponse) *response {
		m := &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{
			Mutation: &extprocv3.BodyMutation_StreamedResponse{StreamedResponse: b},
		}}}
		if direction == "request" {
			return &response{Response: &extprocv3.ProcessingResponse_RequestBody{RequestBody: m}}
		}
		return &response{Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: m}}
	}
	for _, tt := range []struct {
		modes string
		send  *response
		want  string
	}{
		{headerModes, headers(&extprocv3.CommonResponse{Status: extprocv3.CommonResponse_CONTINUE_AND_REPLACE}), "request_headers.response.status"},
		{headerModes, headers(&extprocv3.CommonResponse{HeaderMutation: set(":path", "1", "x")}), "request_headers.header_mutation.set_headers"},
		{headerModes, headers(&extprocv3.CommonResponse{HeaderMutation: set("x", "1", "Host")}), "request_headers.header_mutation.remove_headers"},
		{headerModes, &response{Response: &extprocv3.ProcessingResponse_ResponseHeaders{}}, "response_headers; the filter has not sent this event"},
		{headerModes, &response{Response: &extprocv3.ProcessingResponse_ResponseTrailers{}}, "response_trailers; the filter has not sent this event"},
		{headerModes, &response{Response: &extprocv3.ProcessingResponse_RequestTrailers{}}, "must be a response to an event that the filter sends"},
		{headerModes, of("request", &extprocv3.StreamedBodyResponse{}), "request_body; the filter has sent no message"},
		{headerModes, of("response", &extprocv3.StreamedBodyResponse{}), "response_body; the filter has sent no message"},
		{headerModes, &response{ServerWindowUpdate: &extprocv3.ProcessingResponse_ServerWindowUpdate{WindowIncrementDownstreamToSidestream: 1 << 62}}, "window_increment_downstream_to_sidestream"},
		{headerModes, &response{ServerWindowUpdate: &extprocv3.ProcessingResponse_ServerWindowUpdate{WindowIncrementUpstreamToSidestream: -1 << 62}}, "window_increment_upstream_to_sidestream"},
		{allModes, of("request", &extprocv3.StreamedBodyResponse{}), "request_body; must be sent after the response to the headers"},
		{allModes, of("response", &extprocv3.StreamedBodyResponse{}), "response_body; the filter has sent no event"},
		{allModes, &response{Response: &extprocv3.ProcessingResponse_RequestBody{}}, "streamed_response; must be set"},
	} {
		for _, allow := range []bool{false, true} {
			w.Handle(func(s fakeextproc.Stream) error {
				if _, err := s.Recv(); err != nil {
					return err
				}
				if err := s.Send(tt.send); err != nil {
					return err
				}
				<-s.Context().Done()
				return nil
			})
			c := w.client(fmt.Sprintf(`%s, "failure_mode_allow": %t`, tt.modes, allow))
			var got string
			var err error
			if allow { // no message is sent to the processor before it breaks the rule
				if _, err := c.Header(); err != nil {
					t.Errorf("%s: allowed: %v; want the headers of the backend", tt.want, err)
				}
				got, err = c.exchange("a")
			} else {
				got, err = c.exchange("a")
			}
			switch {
			case allow && (got != "a" || err != nil):
				t.Errorf("%s: allowed: %q, %v; want a", tt.want, got, err)
			case !allow && (status.Code(err) != codes.Internal || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v; want INTERNAL and %s", err, tt.want)
			}
		}
	}
}

// An immediate response ends the call with its status. In response to trailers, it replaces their status.
func TestImmediateResponse(t *testing.T) { onBothSides(t, testImmediateResponse) }

func testImmediateResponse(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	for _, tt := range []struct {
		event, config string
		status        *extprocv3.GrpcStatus
		want          codes.Code
		text, trailer string
	}{
		{"headers", "", &extprocv3.GrpcStatus{Status: 16}, codes.Unauthenticated, `go\naway`, "1"},
		{"headers", "", &extprocv3.GrpcStatus{Status: 17}, codes.Unknown, "", "1"},
		{"headers", "", nil, codes.Internal, "", "1"},
		{"headers", "", &extprocv3.GrpcStatus{}, codes.OK, "", "1"},
		{"headers", `, "disable_immediate_response": true`, &extprocv3.GrpcStatus{Status: 16}, codes.Internal, "disables immediate responses", ""},
		{"headers", `, "disable_immediate_response": true, "failure_mode_allow": true`, &extprocv3.GrpcStatus{Status: 16}, codes.OK, "", ""},
		{"trailers", "", &extprocv3.GrpcStatus{Status: 5}, codes.NotFound, `go\naway`, "1"},
		{"trailers", "", &extprocv3.GrpcStatus{}, codes.OK, "", "1"},
	} {
		w.Handle(changing(func(in *request, out *response) []*response {
			if (tt.event == "headers") == (in.GetRequestHeaders() != nil) && (in.GetRequestHeaders() != nil || in.GetResponseTrailers() != nil) {
				return []*response{{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
					GrpcStatus: tt.status, Details: "go\naway", Status: &typev3.HttpStatus{Code: 503}, Headers: set("x-reason", "1", "x"),
				}}}}
			}
			return []*response{out}
		}))
		c := w.client(headerModes + tt.config)
		_, err := c.exchange("a")
		if status.Code(err) != tt.want || tt.text != "" && status.Convert(err).Message() != tt.text && !strings.Contains(tt.config, "disable") ||
			strings.Contains(tt.text, "disables") && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s %v%s: %v; want %v and %s", tt.event, tt.status, tt.config, err, tt.want, tt.text)
		}
		if got := strings.Join(c.Trailer()["x-reason"], ","); got != tt.trailer {
			t.Errorf("%s %v%s: the trailer x-reason is %q; want %q", tt.event, tt.status, tt.config, got, tt.trailer)
		}
	}
}

// A response without headers is one event, which ends the response.
func TestTrailersOnly(t *testing.T) { onBothSides(t, testTrailersOnly) }

func testTrailersOnly(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, func(s grpc.ServerStream) error {
		s.SetTrailer(metadata.Pairs("x-end", "1"))
		return status.Error(codes.NotFound, "none")
	})
	ended := make(chan bool, 10)
	w.Handle(changing(func(in *request, out *response) []*response {
		if h := in.GetResponseHeaders(); h != nil {
			ended <- h.GetEndOfStream() && slices.ContainsFunc(h.GetHeaders().GetHeaders(), func(v *corev3.HeaderValue) bool { return v.GetKey() == "x-end" })
			out.GetResponseHeaders().Response = &extprocv3.CommonResponse{HeaderMutation: set("x-more", "2", "y")}
		}
		if in.GetResponseTrailers() != nil {
			ended <- false
		}
		return []*response{out}
	}))
	for _, modes := range []string{headerModes, allModes} {
		c := w.client(modes)
		header, _ := c.Header()
		_, err := c.hear()
		if md := c.Trailer(); status.Code(err) != codes.NotFound || header != nil || strings.Join(md["x-end"], "")+strings.Join(md["x-more"], "") != "12" {
			t.Errorf("%v, header %v, trailer %v; want NOT_FOUND and the changed trailers", err, header, md)
		}
		if !<-ended || len(ended) > 0 {
			t.Error("the processor does not receive one event with the end of the response")
		}
	}
}

// A message does not pass the headers that wait for a response. The response to a call without headers has the trailers of both.
func TestOrder(t *testing.T) { onBothSides(t, testOrder) }

func testOrder(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	w.Handle(changing(func(in *request, out *response) []*response {
		if in.GetResponseHeaders() != nil {
			out.GetResponseHeaders().Response = &extprocv3.CommonResponse{Status: extprocv3.CommonResponse_CONTINUE_AND_REPLACE}
		}
		return []*response{out}
	}))
	if got, err := w.client(headerModes).exchange("a"); got != "" || status.Code(err) != codes.Internal {
		t.Errorf("%q, %v; want no message and INTERNAL", got, err)
	}
	w = newWorld(t, func(s grpc.ServerStream) error {
		s.SetTrailer(metadata.Pairs("x-end", "1"))
		return status.Error(codes.NotFound, "none")
	})
	w.Handle(changing(func(in *request, out *response) []*response {
		if in.GetResponseHeaders() != nil {
			out.Response = &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
				GrpcStatus: &extprocv3.GrpcStatus{Status: 9}, Headers: set("x-reason", "2", "x"),
			}}
		}
		return []*response{out}
	}))
	c := w.client(headerModes)
	_, err := c.exchange("a")
	if md := c.Trailer(); status.Code(err) != codes.FailedPrecondition || strings.Join(append(md["x-end"], md["x-reason"]...), "") != "12" {
		t.Errorf("%v, trailer %v; want FAILED_PRECONDITION and both trailers", err, md)
	}
}
