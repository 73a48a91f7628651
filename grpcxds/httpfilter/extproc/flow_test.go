package extproc_test

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// Both directions have windows of their own. The program sends all before it receives, while the backend has sent more than a
// window. The processor checks the windows of the filter.
func TestFlowControl(t *testing.T) { onBothSides(t, testFlowControl) }

func testFlowControl(t *testing.T, newWorld newWorldFunc) {
	const n = 100
	big := strings.Repeat("x", 10_000)
	w := newWorld(t, func(s grpc.ServerStream) error {
		sent := make(chan error, 1)
		go func() {
			for range n {
				if err := s.SendMsg(wrapperspb.String(big)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		count := 0
		for {
			m := new(wrapperspb.StringValue)
			if err := s.RecvMsg(m); errors.Is(err, io.EOF) {
				if err := <-sent; err != nil {
					return err
				}
				return s.SendMsg(wrapperspb.String(strconv.Itoa(count)))
			} else if err != nil {
				return err
			}
			count += len(m.GetValue())
		}
	})
	c := w.client(allModes)
	if err := c.RecvMsg(new(wrapperspb.StringValue)); err != nil { // the first of many responses, which fill all windows
		t.Fatal(err)
	}
	for range n {
		c.say(big)
	}
	got, err := c.exchange()
	if want := strings.Repeat(big+",", n-1) + strconv.Itoa(n*len(big)); got != want || err != nil {
		t.Errorf("the program receives %d bytes, %v; want %d", len(got), err, len(want))
	}
}

// A processor that returns no window stops the program.
func TestWindowIsObeyed(t *testing.T) {
	w := newWorld(t, echo)
	full := make(chan struct{})
	release := make(chan struct{})
	w.Handle(func(s fakeextproc.Stream) error {
		total, signaled := 0, false
		for {
			in, err := s.Recv()
			if err != nil {
				return err
			}
			total += len(in.GetRequestBody().GetBody())
			if total > 65536 && !signaled {
				close(full)
				signaled = true
				go func() {
					<-release
					_ = s.Send(&response{ServerWindowUpdate: &extprocv3.ProcessingResponse_ServerWindowUpdate{WindowIncrementDownstreamToSidestream: int64(total)}})
				}()
				continue
			}
			if in.GetRequestHeaders() != nil {
				_ = s.Send(fakeextproc.Reply(in))
			}
		}
	})
	c := w.client(allModes)
	sent := make(chan int, 1)
	go func() {
		n := 0
		for ; n < 7; n++ {
			c.say(strings.Repeat("x", 10_000))
		}
		sent <- n
		c.say("more")
		sent <- n + 1
	}()
	<-full
	if n := <-sent; n != 7 {
		t.Errorf("%d messages; want 7", n)
	}
	select {
	case n := <-sent:
		t.Errorf("message %d was sent without a window", n)
	default:
	}
	close(release)
	if n := <-sent; n != 8 {
		t.Errorf("%d messages after the window update; want 8", n)
	}
}

// A processor that exceeds the window of the filter breaks the protocol.
func TestWindowIsEnforced(t *testing.T) { onBothSides(t, testWindowIsEnforced) }

func testWindowIsEnforced(t *testing.T, newWorld newWorldFunc) {
	huge, err := proto.Marshal(wrapperspb.String(strings.Repeat("x", 60_000)))
	if err != nil {
		t.Fatal(err)
	}
	for _, direction := range []string{"request", "response"} {
		w := newWorld(t, func(s grpc.ServerStream) error {
			if direction == "response" {
				_ = s.SendMsg(wrapperspb.String("a"))
			}
			<-s.Context().Done() // receives nothing
			return nil
		})
		w.Handle(func(s fakeextproc.Stream) error {
			for {
				in, err := s.Recv()
				if err != nil {
					return err
				}
				out := fakeextproc.Reply(in)
				if out == nil {
					continue
				}
				n := 1
				if m := fakeextproc.Message(out); m != nil {
					m.Body, n = huge, 10
				}
				for range n {
					if err := s.Send(out); err != nil {
						return err
					}
				}
			}
		})
		c := w.client(allModes)
		if direction == "request" {
			c.say("a")
		}
		err := c.RecvMsg(new(wrapperspb.StringValue)) // the call may fail before the program receives the first response
		if direction == "response" && err == nil {
			<-c.below.Done()
			for err == nil { // a server may have sent messages before
				err = c.RecvMsg(new(wrapperspb.StringValue))
			}
		}
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "the window is exhausted") {
			t.Errorf("%s: %v; want INTERNAL and the window", direction, err)
		}
	}
}

// The processor drains the stream, and the rest of the messages pass the filter, in order.
func TestDrain(t *testing.T) { onBothSides(t, testDrain) }

func testDrain(t *testing.T, newWorld newWorldFunc) {
	big := strings.Repeat("x", 30_000) // more than the window needs a last update
	w := newWorld(t, echo)
	for _, at := range []int{0, 1, 5} {
		w.Handle(func(s fakeextproc.Stream) error {
			n := 0
			return (&fakeextproc.Mirror{Change: func(in *request, out *response) []*response {
				if in.GetRequestBody() != nil {
					n++
				}
				if in.GetRequestHeaders() != nil && at == 0 || n == at && in.GetRequestBody() != nil {
					out.RequestDrain = true //nolint:staticcheck // A93 has this field
				}
				return []*response{out}
			}}).Process(s)
		})
		c := w.client(allModes)
		var all sync.WaitGroup
		const n = 20
		all.Go(func() {
			for i := range n {
				c.say(fmt.Sprint(i, big))
			}
			_ = c.CloseSend()
		})
		got, err := c.hear()
		all.Wait()
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint(i, big))
		}
		if got != strings.Join(want, ",") || err != nil {
			t.Errorf("drain at %d: %d bytes, %v; want all messages in order", at, len(got), err)
		}
		if md := c.Trailer(); strings.Join(md["x-end"], ",") != "1" {
			t.Errorf("drain at %d: the trailer is %v; want that of the backend", at, md)
		}
	}
}

// A stream that ends with OK lets events pass, unless the processor may have kept messages.
func TestEndWithoutDrain(t *testing.T) { onBothSides(t, testEndWithoutDrain) }

func testEndWithoutDrain(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	w.Handle(func(s fakeextproc.Stream) error {
		in, err := s.Recv()
		for err == nil && in.GetProtocolConfig().GetRequestBodyMode() == filterv3.ProcessingMode_GRPC && in.GetRequestBody() == nil {
			first := in
			if in, err = s.Recv(); in != nil {
				in.ProtocolConfig = first.GetProtocolConfig()
			}
		}
		return err
	})
	for modes, want := range map[string]codes.Code{headerModes: codes.OK, allModes: codes.Internal, allModes + `, "failure_mode_allow": true`: codes.Internal} {
		c := w.client(modes)
		if modes != headerModes {
			c.say("a")
		}
		if _, err := c.exchange("a"); status.Code(err) != want || want != codes.OK && !strings.Contains(err.Error(), "without a drain") && !strings.Contains(modes, "allow") {
			t.Errorf("%s: %v; want %v", modes, err, want)
		}
	}
}

// The processor half-closes the call. Further messages of the program are discarded.
func TestEndOfRequests(t *testing.T) { onBothSides(t, testEndOfRequests) }

func testEndOfRequests(t *testing.T, newWorld newWorldFunc) {
	for _, without := range []bool{false, true} {
		w := newWorld(t, echo)
		w.Handle(changing(func(in *request, out *response) []*response {
			m := fakeextproc.Message(out)
			if in.GetRequestBody() == nil {
				return []*response{out}
			}
			if value(m.GetBody()) == "b" {
				m.EndOfStream, m.EndOfStreamWithoutMessage = true, without
				if without {
					m.Body = nil
				}
				return []*response{out}
			}
			if value(m.GetBody()) == "a" {
				return []*response{out}
			}
			return nil // the processor ignores more
		}))
		c := w.client(allModes)
		c.say("a", "b")
		got, err := c.hear() // the backend ends
		want := "a,b"
		if without {
			want = "a"
		}
		if got != want || err != nil {
			t.Errorf("without a message %t: %q, %v; want %s", without, got, err, want)
		}
	}
}

// A server that may send one message sends it through the processor. Two messages in its place are an error.
func TestOneResponse(t *testing.T) {
	for n, want := range map[int]codes.Code{1: codes.OK, 2: codes.Internal} {
		w := newWorld(t, func(s grpc.ServerStream) error {
			for {
				if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
					break
				}
			}
			return s.SendMsg(wrapperspb.String("sum"))
		})
		w.Handle(changing(func(in *request, out *response) []*response {
			if in.GetResponseBody() != nil && n == 2 {
				return []*response{out, out}
			}
			return []*response{out}
		}))
		c := w.clientOf(w.parse(allModes), false)
		c.say("a", "b")
		_ = c.CloseSend()
		m := new(wrapperspb.StringValue)
		if err := c.RecvMsg(m); status.Code(err) != want || m.GetValue() != "sum" {
			t.Errorf("%d responses: %q, %v; want sum and %v", n, m.GetValue(), err, want)
		}
	}
}

// A processor that drains has a window for all messages that it has, although it gets no window updates after the half-close.
func TestDrainHasAWindow(t *testing.T) { onBothSides(t, testDrainHasAWindow) }

func testDrainHasAWindow(t *testing.T, newWorld newWorldFunc) {
	const n, at = 10, 6
	w := newWorld(t, echo)
	w.Handle(func(s fakeextproc.Stream) error {
		var held []*response
		credit := int64(65536)
		for {
			in, err := s.Recv()
			if err != nil {
				break
			}
			credit += in.GetClientWindowUpdate().GetWindowIncrementSidestreamToUpstream()
			out := fakeextproc.Reply(in)
			if out == nil {
				continue
			}
			if in.GetRequestBody() == nil {
				if err := s.Send(out); err != nil {
					return err
				}
				continue
			}
			held = append(held, out)
			update := &response{ServerWindowUpdate: &extprocv3.ProcessingResponse_ServerWindowUpdate{
				WindowIncrementDownstreamToSidestream: int64(len(in.GetRequestBody().GetBody())),
			}}
			update.RequestDrain = len(held) == at //nolint:staticcheck // A93 has this field
			if err := s.Send(update); err != nil {
				return err
			}
		}
		for _, out := range held {
			if credit <= 0 {
				return status.Error(codes.ResourceExhausted, "no window")
			}
			credit -= int64(len(fakeextproc.Message(out).GetBody()))
			if err := s.Send(out); err != nil {
				return err
			}
		}
		return nil
	})
	c := w.client(`"processing_mode": {"request_body_mode": "GRPC", "response_header_mode": "SKIP"}`)
	var sender sync.WaitGroup
	sender.Go(func() {
		for i := range n {
			c.say(fmt.Sprint(i, strings.Repeat("x", 30_000)))
		}
		_ = c.CloseSend()
	})
	got, err := c.hear()
	sender.Wait()
	if m := strings.Count(got, ",") + 1; m != n || err != nil {
		t.Errorf("%d messages, %v; want %d", m, err, n)
	}
}

// A processor may return a message of gRPC's default limit, although its response is larger.
func TestLargestMessage(t *testing.T) { onBothSides(t, testLargestMessage) }

func testLargestMessage(t *testing.T, newWorld newWorldFunc) {
	raw, err := proto.Marshal(wrapperspb.String(strings.Repeat("x", 4<<20-5)))
	if err != nil || len(raw) != 4<<20 {
		t.Fatalf("%d bytes, %v; want 4 MiB", len(raw), err)
	}
	w := newWorld(t, func(s grpc.ServerStream) error {
		m := new(wrapperspb.StringValue)
		if err := s.RecvMsg(m); err != nil {
			return err
		}
		return s.SendMsg(wrapperspb.String(strconv.Itoa(len(m.GetValue()))))
	})
	w.Handle(changing(func(_ *request, out *response) []*response {
		if m := fakeextproc.Message(out); m != nil && !m.GetEndOfStream() {
			m.Body = raw
		}
		return []*response{out}
	}))
	if got, err := w.client(`"processing_mode": {"request_body_mode": "GRPC"}`).exchange("a"); got != strconv.Itoa(4<<20-5) || err != nil {
		t.Errorf("%q, %v; want the length of the message", got, err)
	}
}
