package extproc_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	extprocfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// events select the events of a call, by kind.
var events = map[string]func(*request) bool{
	"request headers":   func(in *request) bool { return in.GetRequestHeaders() != nil },
	"request message":   func(in *request) bool { return in.GetRequestBody() != nil && !in.GetRequestBody().GetEndOfStream() },
	"half-close":        func(in *request) bool { return in.GetRequestBody().GetEndOfStream() },
	"response headers":  func(in *request) bool { return in.GetResponseHeaders() != nil },
	"response message":  func(in *request) bool { return in.GetResponseBody() != nil },
	"response trailers": func(in *request) bool { return in.GetResponseTrailers() != nil },
}

// answers are responses that may be wrong, by the event that they follow.
var answers = map[string]func() *response{
	"nothing":         func() *response { return new(response) },
	"no other window": func() *response { return window(0) },
	"request headers": func() *response {
		return fakeextproc.Reply(&request{Request: &extprocv3.ProcessingRequest_RequestHeaders{}})
	},
	"response headers": func() *response {
		return fakeextproc.Reply(&request{Request: &extprocv3.ProcessingRequest_ResponseHeaders{}})
	},
	"response trailers": func() *response {
		return fakeextproc.Reply(&request{Request: &extprocv3.ProcessingRequest_ResponseTrailers{}})
	},
	"request trailers": func() *response {
		return &response{Response: &extprocv3.ProcessingResponse_RequestTrailers{RequestTrailers: new(extprocv3.TrailersResponse)}}
	},
	"headers without fields":  func() *response { return &response{Response: new(extprocv3.ProcessingResponse_RequestHeaders)} },
	"message without fields":  func() *response { return &response{Response: new(extprocv3.ProcessingResponse_ResponseBody)} },
	"empty request message":   func() *response { return messageOf(false) },
	"half-close":              func() *response { return messageOf(true) },
	"drain of the stream":     func() *response { return &response{RequestDrain: true} }, //nolint:staticcheck // processors of grpc-go 1.85 use it
	"drain of the directions": func() *response { return &response{RequestDrainRequests: true, RequestDrainResponses: true} },
	"endless window":          func() *response { return window(1 << 62) },
	"closed window":           func() *response { return window(-1 << 30) },
}

func messageOf(end bool) *response {
	return fakeextproc.Reply(&request{Request: &extprocv3.ProcessingRequest_RequestBody{RequestBody: &extprocv3.HttpBody{EndOfStream: end}}})
}

func window(n int64) *response {
	return &response{ServerWindowUpdate: &extprocv3.ProcessingResponse_ServerWindowUpdate{WindowIncrementDownstreamToSidestream: n}}
}

// at returns a handler of the processor that replaces its responses to a kind of event.
func at(kind func(*request) bool, replace func(*response) []*response) func(fakeextproc.Stream) error {
	return changing(func(in *request, out *response) []*response {
		if kind(in) {
			return replace(out)
		}
		return []*response{out}
	})
}

// quick limits the silence of the processor.
const quick = allModes + `, "message_timeout": "0.1s"`

// Every response in place of, and before, that to each event: the call ends with OK or INTERNAL, although it has no deadline of its own.
func TestWrongResponsesEndCalls(t *testing.T) { onBothSides(t, testWrongResponses) }

func testWrongResponses(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	results := map[codes.Code]int{}
	for event, is := range events {
		for answer, wrong := range answers {
			for _, besides := range []bool{false, true} {
				w.Handle(at(is, func(out *response) []*response {
					if besides {
						return []*response{wrong(), out}
					}
					return []*response{wrong()}
				}))
				got, err := w.client(quick).exchange("a", "b")
				code := status.Code(err)
				results[code]++
				if code != codes.OK && code != codes.Internal || strings.HasPrefix(answer, "no") && code != codes.Internal {
					t.Errorf("%s at %s, besides the response %t: %q, %v; want OK or INTERNAL", answer, event, besides, got, err)
				}
			}
		}
	}
	if results[codes.OK] == 0 || results[codes.Internal] == 0 {
		t.Errorf("the results are %v; want both", results)
	}
}

// A processor that is silent from an event on ends the call with INTERNAL. With failure_mode_allow, events pass if there are no messages.
func TestSilentProcessor(t *testing.T) { onBothSides(t, testSilentProcessor) }

func testSilentProcessor(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	for event, is := range events {
		short, seen := headerModes+`, "message_timeout": "0.1s"`, true
		if event == "half-close" || strings.HasSuffix(event, "message") { // which the processor does not receive
			short, seen = headerModes, false
		}
		for _, mode := range []string{quick, short} {
			for _, allow := range []string{"", `, "failure_mode_allow": true`} {
				silent := false
				w.Handle(changing(func(in *request, out *response) []*response {
					if silent = silent || is(in); silent {
						return nil
					}
					return []*response{out}
				}))
				got, err := w.client(mode+allow).exchange("a", "b")
				switch {
				case mode == quick || allow == "" && seen:
					if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "silent for 100ms") {
						t.Errorf("%s, %s%s: %q, %v; want INTERNAL and the silence", event, mode, allow, got, err)
					}
				case err != nil || got != "a,b":
					t.Errorf("%s, %s%s: %q, %v; want OK", event, mode, allow, got, err)
				}
			}
		}
	}
}

// An immediate response to any event gives the call its status and its trailers. Unknown codes are UNKNOWN.
func TestImmediateResponseToEachEvent(t *testing.T) { onBothSides(t, testImmediateEverywhere) }

func testImmediateEverywhere(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	for event, is := range events {
		for code, want := range map[uint32]codes.Code{0: codes.OK, 7: codes.PermissionDenied, fault.CodeOf(401): codes.Unauthenticated, 17: codes.Unknown, 1<<32 - 1: codes.Unknown} {
			w.Handle(at(is, func(*response) []*response {
				return []*response{{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
					GrpcStatus: &extprocv3.GrpcStatus{Status: code}, Details: "a\x00b%41\n",
				}}}}
			}))
			c := w.client(allModes)
			if _, err := c.exchange("a", "b"); status.Code(err) != want || err != nil && strings.ContainsAny(status.Convert(err).Message(), "\x00\n") {
				t.Errorf("%s, code %d: %v; want %v", event, code, err, want)
			}
		}
	}
}

// The parts that A93 ignores have no effect beside a response.
func TestIgnoredParts(t *testing.T) { onBothSides(t, testIgnoredParts) }

func testIgnoredParts(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	w.Handle(changing(func(_ *request, out *response) []*response {
		out.ModeOverride = &extprocfilterv3.ProcessingMode{RequestHeaderMode: extprocfilterv3.ProcessingMode_SKIP}
		out.DynamicMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewStringValue("b")}}
		return []*response{out}
	}))
	if got, err := w.client(allModes).exchange("a", "b"); got != "a,b" || err != nil {
		t.Errorf("%q, %v; want a,b", got, err)
	}
}

// Headers above 1 MiB end the call in all failure modes, before the processor receives them. Those that it does not select do not count.
func TestLargeHeaders(t *testing.T) { onBothSides(t, testLargeHeaders) }

func testLargeHeaders(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	large := strings.Repeat("x", 1<<20)
	for _, mode := range []string{headerModes, allModes} {
		streams := w.Streams.Load()
		_, err := w.client(mode+`, "failure_mode_allow": true`, "x-large", large).exchange("a")
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "forward_rules") || w.Streams.Load() != streams {
			t.Errorf("%s: %v, %d streams; want INTERNAL and none", mode, err, w.Streams.Load()-streams)
		}
		got, err := w.client(mode+`, "forward_rules": {"disallowed_headers": {"patterns": [{"exact": "x-large"}]}}`, "x-large", large).exchange("a")
		if got != "a" || err != nil {
			t.Errorf("%s: %q, %v; want OK without the header", mode, got, err)
		}
	}
	testLargeAttributes(t, w, large)
	w.handle = func(grpc.ServerStream) error { return nil }
	if _, err := w.client(headerModes+`, "failure_mode_allow": true, "observability_mode": true`, "x-large", large).exchange(); err != nil {
		t.Errorf("an observer: %v; want OK without it", err)
	}
}

// testLargeAttributes sends headers that only the attributes have, with the first event of each direction.
func testLargeAttributes(t *testing.T, w *world, large string) {
	for _, mode := range []string{
		headerModes + `, "request_attributes": ["request.headers"]`,
		headerModes + `, "response_attributes": ["request.headers"]`,
		`"processing_mode": {"request_header_mode": "SKIP", "response_header_mode": "SKIP", "request_body_mode": "GRPC"}, "request_attributes": ["request.headers"]`,
	} {
		var received atomic.Int64
		w.Handle(changing(func(in *request, out *response) []*response {
			received.Store(max(received.Load(), int64(proto.Size(in))))
			return []*response{out}
		}))
		c := w.client(mode+`, "failure_mode_allow": true, "forward_rules": {"disallowed_headers": {"patterns": [{"exact": "x-large"}]}}`, "x-large", large)
		if got, err := c.exchange("a"); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "attributes = ") || received.Load() >= int64(len(large)) {
			t.Errorf("%s: %q, %v, an event of %d bytes; want INTERNAL before it is sent", mode, got, err, received.Load())
		}
	}
}

// A processor with a smaller limit of its messages refuses the event of a large call, which ends in all failure modes.
func TestProcessorWithASmallLimit(t *testing.T) { onBothSides(t, testSmallLimit) }

func testSmallLimit(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	p, err := fakeextproc.Start(grpc.MaxRecvMsgSize(4000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	w.Server = p
	for size, want := range map[int]codes.Code{10: codes.OK, 5000: codes.Internal} {
		_, err := w.client(headerModes+`, "failure_mode_allow": true`, "x-large", strings.Repeat("x", size)).exchange("a")
		if status.Code(err) != want {
			t.Errorf("a header of %d bytes: %v; want %v", size, err, want)
		}
	}
}

// A call that ends by its deadline or by its caller does not continue without the processor.
func TestEndedCallsDoNotContinue(t *testing.T) { onBothSides(t, testEndedCalls) }

func testEndedCalls(t *testing.T, newWorld newWorldFunc) {
	ran := make(chan metadata.MD, 1)
	w := newWorld(t, func(s grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		ran <- md
		return nil
	})
	w.limit = 20 * time.Millisecond
	w.Handle(func(s fakeextproc.Stream) error {
		<-s.Context().Done()
		return s.Context().Err()
	})
	_, err := w.client(headerModes + `, "failure_mode_allow": true`).exchange("a")
	if code := status.Code(err); code != codes.DeadlineExceeded || len(ran) > 0 {
		t.Errorf("%v, the handler ran %t; want DEADLINE_EXCEEDED and false", err, len(ran) > 0)
	}
}
