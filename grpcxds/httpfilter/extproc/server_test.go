package extproc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// Methods with one message in a direction get one, or the call fails.
func TestOneMessageOnAServer(t *testing.T) {
	w := newServerWorld(t, func(s grpc.ServerStream) error {
		m := new(wrapperspb.StringValue)
		if err := s.RecvMsg(m); err != nil {
			return err
		}
		return s.SendMsg(m)
	})
	for _, tt := range []struct {
		clientStreams, serverStreams bool
		requests, responses          int // the messages of the processor
		want                         string
	}{
		{false, false, 1, 1, ""},
		{false, true, 1, 2, ""},
		{true, false, 2, 1, ""},
		{false, true, 2, 1, "two messages of a client"},
		{false, true, 0, 1, "no message of a client"},
		{true, false, 1, 2, "two messages of a server"},
	} {
		w.Handle(changing(func(in *request, out *response) []*response {
			n := 1
			switch {
			case in.GetRequestBody() != nil && !in.GetRequestBody().GetEndOfStream():
				n = tt.requests
			case in.GetResponseBody() != nil:
				n = tt.responses
			}
			var all []*response
			for range n {
				all = append(all, out)
			}
			return all
		}))
		c := w.serverOf(w.parse(allModes), tt.clientStreams, tt.serverStreams)
		got, err := c.exchange("a")
		if tt.want != "" {
			if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: %q, %v; want INTERNAL and %s", tt, got, err, tt.want)
			}
			continue
		}
		if want := strings.Repeat(",a", tt.responses)[1:]; got != want || err != nil {
			t.Errorf("%+v: %q, %v; want %s", tt, got, err, want)
		}
	}
}

// An observer also receives the half-close of a client that sends one message, although the handler does not wait for it.
func TestObservedHalfClose(t *testing.T) {
	w := newServerWorld(t, func(s grpc.ServerStream) error {
		m := new(wrapperspb.StringValue)
		if err := s.RecvMsg(m); err != nil {
			return err
		}
		return s.SendMsg(m)
	})
	closed := make(chan bool, 1)
	w.Handle(func(s fakeextproc.Stream) error {
		for {
			in, err := s.Recv()
			if err != nil {
				return err
			}
			if in.GetRequestBody().GetEndOfStream() {
				closed <- in.GetRequestBody().GetEndOfStreamWithoutMessage()
			}
		}
	})
	c := w.serverOf(w.parse(allModes+`, "observability_mode": true`), false, true)
	if got, err := c.exchange("a"); got != "a" || err != nil {
		t.Errorf("%q, %v; want a", got, err)
	}
	if !<-closed {
		t.Error("the half-close has a message")
	}
}

// The headers that the handler sets are those of the response, whether it sends them, or a message, or only a status.
func TestHeadersOfAServer(t *testing.T) {
	for _, modes := range []string{allModes, headerModes} {
		for name, handle := range map[string]func(grpc.ServerStream) error{
			"sent": func(s grpc.ServerStream) error { return s.SendHeader(metadata.Pairs("x-b", "2")) },
			"with a message": func(s grpc.ServerStream) error {
				_ = s.SetHeader(metadata.Pairs("x-b", "2"))
				return s.SendMsg(wrapperspb.String("a"))
			},
			"with a status": func(s grpc.ServerStream) error { return s.SetHeader(metadata.Pairs("x-b", "2")) },
		} {
			w := newServerWorld(t, func(s grpc.ServerStream) error {
				if err := s.SetHeader(metadata.Pairs("x-a", "1")); err != nil {
					return err
				}
				if err := handle(s); err != nil {
					return err
				}
				if name != "with a status" && (s.SendHeader(nil) == nil || s.SetHeader(metadata.Pairs("x-c", "3")) == nil) {
					t.Errorf("%s: headers after the headers are no error", name)
				}
				s.SetTrailer(metadata.Pairs("x-end", "1"))
				s.SetTrailer(metadata.Pairs("x-end", "2"))
				return status.Error(codes.NotFound, "none")
			})
			c := w.client(modes)
			_, err := c.exchange()
			md, _ := c.Header()
			if got := strings.Join(append(md["x-a"], md["x-b"]...), "") + strings.Join(c.Trailer()["x-end"], ""); got != "1212" || status.Code(err) != codes.NotFound {
				t.Errorf("%s: header %v, trailer %v, %v; want x-a, x-b and both trailers", name, md, c.Trailer(), err)
			}
		}
	}
}

// A compression is a stats handler that notes the encodings of responses.
type compression struct {
	mu  sync.Mutex
	all []string
}

func (*compression) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (*compression) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*compression) HandleConn(context.Context, stats.ConnStats)                       {}

func (c *compression) HandleRPC(_ context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InHeader); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, in.Compression)
	}
}

// The messages of the processor are sent without compression, although gRPC compresses responses to compressed requests.
func TestResponsesAreNotCompressed(t *testing.T) {
	for modes, want := range map[string]string{headerModes: "gzip", allModes: ""} {
		w := newServerWorld(t, echo)
		var seen compression
		w.dial = []grpc.DialOption{grpc.WithStatsHandler(&seen)}
		w.options = []grpc.CallOption{grpc.UseCompressor(gzip.Name)}
		if got, err := w.client(modes).exchange("a"); got != "a" || err != nil {
			t.Errorf("%q, %v; want a", got, err)
		}
		seen.mu.Lock()
		if got := strings.Join(seen.all, ","); got != want && got != "identity" {
			t.Errorf("%s: the response has the compression %q; want %q", modes, got, want)
		}
		seen.mu.Unlock()
	}
}

// An immediate response ends a handler that waits for the client: its context is done, and its operations fail.
func TestImmediateResponseEndsTheHandler(t *testing.T) {
	for _, modes := range []string{allModes, headerModes} {
		failed := make(chan error, 2)
		w := newServerWorld(t, func(s grpc.ServerStream) error {
			_ = s.SendHeader(nil)
			err := s.RecvMsg(new(wrapperspb.StringValue)) // the client sends none
			failed <- err
			<-s.Context().Done()
			failed <- s.SendMsg(wrapperspb.String("late"))
			return nil
		})
		w.Handle(changing(func(in *request, out *response) []*response {
			if in.GetResponseHeaders() != nil {
				out.Response = &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
					GrpcStatus: &extprocv3.GrpcStatus{}, Headers: set("x-reason", "1", "x"),
				}}
			}
			return []*response{out}
		}))
		c := w.client(modes)
		if got, err := c.hear(); got != "" || err != nil || strings.Join(c.Trailer()["x-reason"], "") != "1" {
			t.Errorf("%q, %v, trailer %v; want OK and the trailer", got, err, c.Trailer())
		}
		for range 2 {
			if err := <-failed; err == nil || errors.Is(err, io.EOF) {
				t.Errorf("the handler gets %v; want an error", err)
			}
		}
	}
}
