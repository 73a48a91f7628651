package extproc_test

import (
	"errors"
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
func TestDrainOfABusyProcessor(t *testing.T) {
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
