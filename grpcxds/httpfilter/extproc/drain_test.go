package extproc_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// A processor that drains may send large messages before it reads those of the filter. The last window update does not keep the
// filter from receiving them.
func TestDrainOfABusyProcessor(t *testing.T) { onBothSides(t, testDrainOfABusyProcessor) }

func testDrainOfABusyProcessor(t *testing.T, newWorld newWorldFunc) {
	big := strings.Repeat("x", 3<<20) // more than the windows of HTTP/2
	w := newWorld(t, echo)
	sent := make(chan struct{})
	w.Handle(func(s fakeextproc.Stream) error {
		in, err := s.Recv()
		if err != nil {
			return err
		}
		<-sent
		drain := fakeextproc.Reply(in)
		drain.RequestDrain = true //nolint:staticcheck // A93 has this field
		for _, out := range []*response{drain, requestOf("small"), requestOf(big), new(response)} {
			if err := s.Send(out); err != nil {
				return err
			}
		}
		for {
			in, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if out := fakeextproc.Reply(in); out != nil {
				if err := s.Send(out); err != nil {
					return err
				}
			}
		}
	})
	c := w.client(`"processing_mode": {"request_body_mode": "GRPC", "response_header_mode": "SKIP"}`)
	c.say(big)
	close(sent)
	var sender sync.WaitGroup
	sender.Go(func() {
		c.say("more")
		_ = c.CloseSend()
	})
	got, err := c.hear()
	sender.Wait()
	if want := strings.Join([]string{"small", big, big, "more"}, ","); got != want || err != nil {
		t.Errorf("the program receives %d bytes, %v; want %d", len(got), err, len(want))
	}
}

// requestOf returns a response with a message for the server.
func requestOf(text string) *response {
	raw, _ := proto.Marshal(wrapperspb.String(text)) // it always marshals
	return fakeextproc.Reply(&request{Request: &extprocv3.ProcessingRequest_RequestBody{RequestBody: &extprocv3.HttpBody{Body: raw}}})
}

// The processor drains one direction or both. Their messages pass the filter in order, and it receives the other events.
func TestDrainOfADirection(t *testing.T) { onBothSides(t, testDrainOfADirection) }

func testDrainOfADirection(t *testing.T, newWorld newWorldFunc) {
	const n = 20
	big := strings.Repeat("x", 30_000) // the messages need window updates
	w := newWorld(t, echo)
	for _, tt := range []struct {
		name                string
		at                  func(in *request, bodies int) bool // the event at which the processor asks
		requests, responses bool
	}{
		{"requests at once", func(in *request, _ int) bool { return in.GetRequestHeaders() != nil }, true, false},
		{"responses before their headers", func(in *request, _ int) bool { return in.GetRequestHeaders() != nil }, false, true},
		{"both in the middle", func(_ *request, bodies int) bool { return bodies == 9 }, true, true},
		{"requests after the half-close", func(in *request, _ int) bool { return in.GetRequestBody().GetEndOfStream() }, true, false},
		{"responses after the trailers", func(in *request, _ int) bool { return in.GetResponseTrailers() != nil }, false, true},
	} {
		type seen struct{ complete, late, early, trailers int }
		result := make(chan seen, 1)
		w.Handle(func(s fakeextproc.Stream) error {
			var got seen
			bodies, headers := 0, 0
			done := map[bool]bool{} // by direction: drain_complete was received
			err := (&fakeextproc.Mirror{Change: func(in *request, out *response) []*response {
				if in.GetResponseHeaders() != nil {
					headers++
				}
				if b := fakeextproc.Message(out); b != nil {
					bodies++
					if in.GetResponseBody() != nil && headers == 0 {
						got.early++
					}
					request := in.GetRequestBody() != nil
					if done[request] {
						got.late++
					}
					if b.GetDrainComplete() {
						done[request] = true
						got.complete++
					}
				}
				if in.GetResponseTrailers() != nil {
					got.trailers++
				}
				if tt.at(in, bodies) {
					out.RequestDrainRequests, out.RequestDrainResponses = tt.requests, tt.responses
				}
				return []*response{out}
			}}).Process(s)
			result <- got
			return err
		})
		c := w.client(allModes)
		var sender sync.WaitGroup
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint(i, big))
		}
		sender.Go(func() {
			c.say(want...)
			_ = c.CloseSend()
		})
		got, err := c.hear()
		sender.Wait()
		if got != strings.Join(want, ",") || err != nil {
			t.Errorf("%s: %d bytes, %v; want all messages in order", tt.name, len(got), err)
		}
		complete := 0
		if !strings.Contains(tt.name, "after") {
			if tt.requests {
				complete++
			}
			if tt.responses {
				complete++
			}
		}
		if r := <-result; r != (seen{complete, 0, 0, 1}) {
			t.Errorf("%s: the processor receives {drain_complete, later messages, messages before headers, trailers} = %v; want %d, none, none and one", tt.name, r, complete)
		}
	}
}

// The filter sends drain_complete at once. A processor that waits for it sends nothing else.
func TestDrainIsCompletedAtOnce(t *testing.T) { onBothSides(t, testDrainIsCompletedAtOnce) }

func testDrainIsCompletedAtOnce(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	for name, requests := range map[string]bool{"request": true, "response": false} {
		complete := make(chan bool, 1)
		w.Handle(func(s fakeextproc.Stream) error {
			for n := 0; ; n++ {
				in, err := s.Recv()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				out := fakeextproc.Reply(in)
				switch n {
				case 0: // the headers
					out.RequestDrainRequests, out.RequestDrainResponses = requests, !requests
				case 1:
					complete <- fakeextproc.Message(out).GetDrainComplete()
				}
				if err := s.Send(out); err != nil {
					return err
				}
			}
		})
		c := w.client(fmt.Sprintf(`"processing_mode": {"%s_body_mode": "GRPC", "response_header_mode": "SKIP", "response_trailer_mode": "SEND"}`, name))
		if !<-complete {
			t.Errorf("%s: the filter sends another event; want drain_complete", name)
		}
		if got, err := c.exchange("a", "b"); got != "a,b" || err != nil {
			t.Errorf("%s: %q, %v; want all messages", name, got, err)
		}
	}
}

// After a drain of both directions, the processor may end the stream, and all events pass.
func TestEndAfterDrain(t *testing.T) { onBothSides(t, testEndAfterDrain) }

func testEndAfterDrain(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	ended := make(chan struct{})
	w.Handle(func(s fakeextproc.Stream) error {
		defer close(ended)
		for complete := 0; complete < 2; {
			in, err := s.Recv()
			if err != nil {
				return err
			}
			out := fakeextproc.Reply(in)
			if out == nil {
				continue
			}
			out.RequestDrainRequests, out.RequestDrainResponses = true, true // again and again, which has no effect
			if fakeextproc.Message(out).GetDrainComplete() {
				complete++
			}
			if err := s.Send(out); err != nil {
				return err
			}
		}
		return nil
	})
	c := w.client(allModes)
	c.say("a")
	if _, err := c.Header(); err != nil {
		t.Error(err)
	}
	<-ended
	if got, err := c.exchange("b", "c"); got != "a,b,c" || err != nil {
		t.Errorf("%q, %v; want all messages", got, err)
	}
}
