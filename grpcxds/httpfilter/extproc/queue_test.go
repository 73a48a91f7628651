package extproc_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// The numbers of messages in one direction that wait, and of those that pass in the other one meanwhile. The latter fill several windows.
const (
	manySmall = 1500
	manyOther = 3000
)

// drainRequests receives all requests, and returns their number.
func drainRequests(s grpc.ServerStream) (int, error) {
	for n := 0; ; n++ {
		if err := s.RecvMsg(new(wrapperspb.StringValue)); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// Many small responses that the program has not received do not stop its requests.
func TestWaitingResponsesLeaveRequests(t *testing.T) { onBothSides(t, testWaitingResponses) }

func testWaitingResponses(t *testing.T, newWorld newWorldFunc) {
	for _, mode := range []string{allModes, `"processing_mode": {"response_body_mode": "GRPC", "response_trailer_mode": "SEND"}`} {
		sent := make(chan struct{})
		w := newWorld(t, func(s grpc.ServerStream) error {
			go func() {
				defer close(sent)
				for range manySmall {
					if s.SendMsg(wrapperspb.String("x")) != nil {
						return
					}
				}
			}()
			n, err := drainRequests(s)
			<-sent
			if err == nil && n != manyOther {
				err = status.Errorf(codes.DataLoss, "%d requests", n)
			}
			return err
		})
		c := w.client(mode)
		if err := c.RecvMsg(new(wrapperspb.StringValue)); err != nil { // the others wait
			t.Fatal(err)
		}
		c.say(strings.Split(strings.Repeat("thirty-three bytes for each request,", manyOther-1)+"x", ",")...)
		if got, err := c.exchange(); err != nil || strings.Count(got, "x") != manySmall-1 {
			t.Errorf("%s: %d responses, %v; want %d", mode, strings.Count(got, "x"), err, manySmall-1)
		}
	}
}

// Many small requests that the handler has not received do not stop its responses. It may greet first.
func TestWaitingRequestsLeaveResponses(t *testing.T) { onBothSides(t, testWaitingRequests) }

func testWaitingRequests(t *testing.T, newWorld newWorldFunc) {
	for _, mode := range []string{allModes, `"processing_mode": {"request_body_mode": "GRPC"}`} {
		sent := make(chan struct{})
		w := newWorld(t, func(s grpc.ServerStream) error {
			<-sent
			for range manyOther {
				if err := s.SendMsg(wrapperspb.String("thirty-three bytes for each response")); err != nil {
					return err
				}
			}
			n, err := drainRequests(s)
			if err == nil && n != manySmall {
				err = status.Errorf(codes.DataLoss, "%d requests", n)
			}
			return err
		})
		c := w.client(mode)
		for range manySmall {
			c.say("x")
		}
		close(sent)
		if got, err := c.exchange(); err != nil || strings.Count(got, "thirty") != manyOther {
			t.Errorf("%s: %d responses, %v; want %d", mode, strings.Count(got, "thirty"), err, manyOther)
		}
	}
}

// Messages above gRPC's default limit pass where client and server have raised their limits. The limit of the client holds for the
// messages of the processor, too.
func TestSizesOfTheCall(t *testing.T) { onBothSides(t, testSizesOfTheCall) }

func testSizesOfTheCall(t *testing.T, newWorld newWorldFunc) {
	const most = 32 << 20
	w := newWorld(t, echo)
	p, err := fakeextproc.Start(grpc.MaxRecvMsgSize(most))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	w.Server, w.serve, w.dial = p, []grpc.ServerOption{grpc.MaxRecvMsgSize(most)}, []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(most))}
	w.backend = serveUnknown(t, func(_ any, s grpc.ServerStream) error { return echo(s) }, w.serve, w.dial...)
	big := strings.Repeat("x", 6<<20)
	if got, err := w.client(allModes).exchange(big); err != nil || got != big {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(big))
	}
	if w.onServer {
		return // gRPC's client compares the limit
	}
	w.most = 1000
	c := w.client(allModes)
	if got, err := c.exchange(strings.Repeat("x", 2000)); got != "" || status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("%d bytes, %v; want INTERNAL with the limit", len(got), err)
	}
}
