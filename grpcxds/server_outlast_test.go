package grpcxds

import (
	"strings"
	"sync"
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// limited is a filter whose streams have a time limit, with failure_mode_allow.
func limited(more string) string {
	return strings.Replace(guardProc, "processing_mode {}", "message_timeout { seconds: 30 } "+more, 1)
}

// denial ends a call.
func denial() *extprocv3.ProcessingResponse {
	return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{
		ImmediateResponse: &extprocv3.ImmediateResponse{GrpcStatus: &extprocv3.GrpcStatus{Status: uint32(codes.PermissionDenied)}},
	}}
}

// A caller that waits for the end of its stream to the processor cannot send messages past it, whether the processor has answered to the
// headers or waits for a message.
func TestCallsThatOutlastTheirStream(t *testing.T) {
	for name, answers := range map[string]bool{"it answers to headers": true, "it waits for a message": false} {
		ended := make(chan struct{}, 100)
		x, err := fakeextproc.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Stop)
		x.Handle(func(s fakeextproc.Stream) error {
			defer func() { ended <- struct{}{} }()
			for {
				in, err := s.Recv()
				switch {
				case err != nil:
					return err
				case in.GetRequestBody() != nil:
					return s.Send(denial())
				case answers:
					if err := s.Send(fakeextproc.Reply(in)); err != nil {
						return err
					}
				}
			}
		})
		filter := strings.Replace(limited(`processing_mode { response_header_mode: SKIP request_body_mode: GRPC }`), "target_uri: %q }", "target_uri: %q } timeout { nanos: 200000000 }", 1)
		g := guard(t, x.Addr(), filter)
		c := g.dial()
		var calls []testpb.TestService_FullDuplexCallClient
		for range 20 {
			ss, err := c.FullDuplexCall(g.ctx)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, ss)
		}
		for range calls {
			<-ended
		}
		for _, ss := range calls {
			_ = ss.Send(new(testpb.StreamingOutputCallRequest)) // receiving returns the status
			if m, err := ss.Recv(); m != nil || err == nil {
				t.Errorf("%s: %v, %v; want a failure", name, m, err)
			}
		}
	}
}

// Callers that use all streams of the connection do not make their calls run, although the time limit of a stream passes first.
func TestCrowdsDoNotEscape(t *testing.T) {
	x, err := fakeextproc.Start(grpc.MaxConcurrentStreams(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Stop)
	x.Handle(func(s fakeextproc.Stream) error {
		in, err := s.Recv()
		if err != nil {
			return err
		}
		for _, h := range in.GetRequestHeaders().GetHeaders().GetHeaders() {
			if h.GetKey() == "x-allowed" {
				if err := s.Send(fakeextproc.Reply(in)); err != nil {
					return err
				}
				<-s.Context().Done()
				return nil
			}
		}
		return s.Send(denial())
	})
	filter := strings.Replace(limited("processing_mode {}"), "target_uri: %q }", "target_uri: %q } timeout { nanos: 500000000 }", 1)
	g := guard(t, x.Addr(), filter)
	c := g.dial()
	if st := g.call(c); st.Code() != codes.PermissionDenied {
		t.Fatal(st)
	}
	if _, err := c.FullDuplexCall(metadata.AppendToOutgoingContext(g.ctx, "x-allowed", "1")); err != nil {
		t.Fatal(err)
	}
	g.eventually("the call uses the only stream", func() bool { return x.Open.Load() == 1 })
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := c.EmptyCall(g.ctx, new(testpb.Empty)); status.Code(err) != codes.PermissionDenied && status.Code(err) != codes.Internal {
				t.Errorf("%v; want a failure", err)
			}
		})
	}
	all.Wait()
	if n := g.ran.Load(); n > 0 {
		t.Errorf("the handler ran for %d of 50 calls", n)
	}
}
