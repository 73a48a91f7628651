package extproc_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// A mortal stream fails when it receives an event that dies selects.
type mortal struct {
	fakeextproc.Stream
	dies func(*request) bool
}

func (m mortal) Recv() (*request, error) {
	in, err := m.Stream.Recv()
	if err == nil && m.dies(in) {
		return nil, status.Error(codes.Unavailable, "dead")
	}
	return in, err
}

// A processor that dies at any event ends the call with INTERNAL. With failure_mode_allow, the call continues if the processor has had no
// message.
func TestProcessorDiesAtEachEvent(t *testing.T) { onBothSides(t, testProcessorDies) }

func testProcessorDies(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	for event, is := range events {
		unseen := event == "half-close" || strings.HasSuffix(event, "message") // if the modes skip messages
		for _, mode := range []string{headerModes, allModes} {
			for _, allow := range []string{"", `, "failure_mode_allow": true`} {
				w.Handle(func(s fakeextproc.Stream) error { return (&fakeextproc.Mirror{}).Process(mortal{s, is}) })
				got, err := w.client(mode+allow).exchange("a", "b")
				passes := mode == headerModes && (unseen || allow != "")
				switch code := status.Code(err); {
				case passes && (err != nil || got != "a,b"):
					t.Errorf("dies at %s, %s%s: %q, %v; want OK", event, mode, allow, got, err)
				case passes, code == codes.Internal:
				case allow != "" && code == codes.OK && got == "a,b" && strings.HasSuffix(event, "headers"): // before the first message
				default:
					t.Errorf("dies at %s, %s%s: %q, %v; want INTERNAL", event, mode, allow, got, err)
				}
			}
		}
	}
}

// Whatever a processor does at random, every call ends by itself with OK, INTERNAL or the status of an immediate response.
func TestRandomProcessors(t *testing.T) { onBothSides(t, testRandomProcessors) }

func testRandomProcessors(t *testing.T, newWorld newWorldFunc) {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
	w := newWorld(t, echo)
	results := map[codes.Code]int{}
	for range 60 {
		w.Handle(func(s fakeextproc.Stream) error {
			deadAt := draw(40)
			m := &fakeextproc.Mirror{Change: func(in *request, out *response) []*response {
				switch draw(24) {
				case 0:
					return nil
				case 1:
					return []*response{{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{GrpcStatus: &extprocv3.GrpcStatus{Status: uint32(codes.Aborted)}}}}}
				case 2:
					return []*response{out, out}
				case 3:
					out.RequestDrain = true //nolint:staticcheck // processors of grpc-go 1.85 use it
				case 4:
					out.RequestDrainRequests = true
				case 5:
					out.RequestDrainResponses = true
				case 6:
					if b := fakeextproc.Message(out); b != nil && in.GetRequestBody() != nil {
						b.EndOfStream = true
					}
				}
				return []*response{out}
			}}
			return m.Process(mortal{s, func(*request) bool { deadAt--; return deadAt == 0 }})
		})
		mode := []string{headerModes + `, "message_timeout": "0.1s"`, quick}[draw(2)] + []string{"", `, "failure_mode_allow": true`}[draw(2)]
		_, err := w.client(mode).exchange(strings.Split(strings.Repeat("x", draw(12)), "")...)
		code := status.Code(err)
		results[code]++
		if code != codes.OK && code != codes.Internal && code != codes.Aborted {
			t.Errorf("%s: %v; want OK, INTERNAL or ABORTED", mode, err)
		}
	}
	for _, code := range []codes.Code{codes.OK, codes.Internal, codes.Aborted} {
		if results[code] == 0 {
			t.Errorf("the results are %v; want %v among them", results, code)
		}
	}
}
