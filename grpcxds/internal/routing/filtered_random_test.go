package routing_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// TestStreamsWithOneResult expects each stream to have one result, whatever ends it: a filter that fails to send or to receive, a
// filter that ends the stream, the server, or the context, also before the stream begins. The program and OnFinish
// must get the same result.
func TestStreamsWithOneResult(t *testing.T) {
	for _, retry := range []string{"", `retry_policy { retry_on: "cancelled,unavailable" num_retries { value: 2 } retry_back_off { base_interval { nanos: 1000000 } } }`} {
		w, s, _ := newSpyWorld(t, retry)
		w.handler(func(_ string, s grpc.ServerStream) error {
			switch rand.IntN(4) {
			case 0:
				return status.Error(codes.Unavailable, "not now")
			case 1:
				<-s.Context().Done()
			case 2:
				_ = s.SendHeader(metadata.Pairs("of-server", "header")) // the client reports errors
			}
			for m := new(wrapperspb.StringValue); s.RecvMsg(m) == nil && s.SendMsg(m) == nil; {
			}
			return nil
		})
		s.newStream = func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
			if rand.IntN(8) == 0 {
				<-ctx.Done()
			}
			inner, err := next(ctx)
			r := &randomStream{ClientStream: inner, end: io.EOF}
			r.sends.Store(rand.Int32N(10))
			r.receives.Store(rand.Int32N(4))
			if rand.IntN(3) > 0 {
				r.end = status.Error(codes.DataLoss, "received")
			}
			return r, err
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 25 {
					oneResult(t, w)
				}
			})
		}
		all.Wait()
		if n := s.misuse.Load(); n > 0 {
			t.Errorf("%d uses of filters after their end", n)
		}
	}
}

// oneResult sends and receives on a stream until its end.
func oneResult(t *testing.T, w *world) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(50))*time.Millisecond)
	defer cancel()
	finished := make(chan error, 2)
	stream, err := w.open(ctx, "/p.S/M", grpc.OnFinish(func(err error) { finished <- err }))
	if err != nil {
		if got := <-finished; status.Code(got) != status.Code(err) {
			t.Errorf("the stream fails with %v, and finishes with %v", err, got)
		}
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		for range 8 {
			if stream.SendMsg(wrapperspb.String("?")) != nil {
				return
			}
		}
		_ = stream.CloseSend() // it is no result
	})
	for err == nil {
		err = stream.RecvMsg(new(wrapperspb.StringValue))
	}
	sending.Wait()
	want := err
	if errors.Is(err, io.EOF) {
		want = nil
	}
	again, got := stream.RecvMsg(new(wrapperspb.StringValue)), <-finished
	if status.Code(got) != status.Code(want) || errors.Is(again, io.EOF) != errors.Is(err, io.EOF) || status.Code(again) != status.Code(err) || len(finished) > 0 {
		t.Errorf("the program receives %v, and then %v; the call finishes with %v, and %d times more", err, again, got, len(finished))
	}
}

// A randomStream fails to send and ends after some messages.
type randomStream struct {
	grpc.ClientStream
	sends, receives atomic.Int32 // the messages that are left
	end             error
}

func (r *randomStream) SendMsg(m any) error {
	if r.sends.Add(-1) == 0 {
		return status.Error(codes.Internal, "sent")
	}
	return r.ClientStream.SendMsg(m)
}

func (r *randomStream) RecvMsg(m any) error {
	if r.receives.Add(-1) < 0 {
		return r.end
	}
	return r.ClientStream.RecvMsg(m)
}
