package grpcxds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3" // for prototext
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// A labeler is a processor that adds headers to both directions, and checks that requests have their messages. It reads the first
// message before it answers to the headers.
func labeler(s fakeextproc.Stream) error {
	var held []*extprocv3.ProcessingResponse
	header := func(name string) *extprocv3.HeaderMutation {
		return &extprocv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: name, RawValue: []byte("proc")}, AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD}}}
	}
	return (&fakeextproc.Mirror{Change: func(in *extprocv3.ProcessingRequest, out *extprocv3.ProcessingResponse) []*extprocv3.ProcessingResponse {
		switch r := out.GetResponse().(type) {
		case *extprocv3.ProcessingResponse_RequestHeaders:
			r.RequestHeaders.Response = &extprocv3.CommonResponse{HeaderMutation: header("x-user")}
			if in.GetProtocolConfig().GetRequestBodyMode() != 0 {
				held = append(held, out)
				return nil
			}
		case *extprocv3.ProcessingResponse_ResponseHeaders:
			r.ResponseHeaders.Response = &extprocv3.CommonResponse{HeaderMutation: header("x-header")}
		case *extprocv3.ProcessingResponse_ResponseTrailers:
			r.ResponseTrailers.HeaderMutation = header("x-trailer")
		case *extprocv3.ProcessingResponse_RequestBody:
			all := held
			held = nil
			return append(all, out)
		}
		return []*extprocv3.ProcessingResponse{out}
	}}).Process(s)
}

// newProcessedWorld starts a server with a bootstrap that allows a processor.
func newProcessedWorld(t *testing.T) (*world, *site, *fakeextproc.Server) {
	t.Helper()
	v := newVault(t)
	plane, err := controlplane.Start([]string{listenerMessage, routeMessage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	p, err := fakeextproc.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	p.Handle(labeler)
	config := strings.TrimSuffix(v.bootstrap(plane), "}") + fmt.Sprintf(`, "allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, p.Addr())
	w := newWorldOf(t, plane, config)
	s := w.serve(Creds(insecure.NewCredentials()))
	return w, s, p
}

func processedBy(p *fakeextproc.Server) string {
	return fmt.Sprintf(`http_filters { name: "proc" typed_config { [type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor] {
		grpc_service { google_grpc { target_uri: %q } } processing_mode { request_body_mode: GRPC response_body_mode: GRPC response_trailer_mode: SEND } } } } `, p.Addr())
}

// The processor of a server sees unary calls and streams. Later filters see the changed headers. Overrides change the modes, or
// disable the filter.
func TestServerExtProc(t *testing.T) {
	w, s, p := newProcessedWorld(t)
	rbac := `http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { rules { policies { key: "proc" value {
		permissions { any: true } principals { header { name: "x-user" string_match { exact: "proc" } } } } } } } } } `
	of := func(text string) string { return `typed_per_filter_config { key: "proc" value { ` + text + ` } } ` }
	w.publishListener(s.listener(processedBy(p) + rbac + inline(
		`routes { match { prefix: "/grpc.testing.TestService/UnaryCall" } non_forwarding_action {} `+of(`[type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true }`)+`}
		routes { match { prefix: "/grpc.testing.TestService/StreamingOutputCall" } non_forwarding_action {} `+of(`[type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute] { overrides { processing_mode { response_header_mode: SKIP } } }`)+`} `+anyRoute)))
	s.awaitServing()
	c := s.dial()
	var header, trailer metadata.MD
	_, err := c.EmptyCall(s.ctx, &testpb.Empty{}, grpc.Header(&header), grpc.Trailer(&trailer))
	if got := strings.Join(append(header["x-header"], trailer["x-trailer"]...), " "); got != "proc proc" || err != nil {
		t.Errorf("a unary call: header and trailer %q, %v; want both changes", got, err)
	}
	ss := s.openStream(c)
	if md, err := ss.Header(); err != nil || strings.Join(md["x-header"], "") != "proc" {
		t.Errorf("a stream: header %v, %v; want the change", md, err)
	}
	finish(t, ss)
	if got := strings.Join(ss.Trailer()["x-trailer"], ""); got != "proc" {
		t.Errorf("a stream: trailer %q; want the change", got)
	}
	if _, err := c.UnaryCall(s.ctx, &testpb.SimpleRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("disabled: %v; want PERMISSION_DENIED of the filter behind", err)
	}
	before := p.Streams.Load()
	out, err := c.StreamingOutputCall(s.ctx, &testpb.StreamingOutputCallRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if md, _ := out.Header(); md["x-header"] != nil || p.Streams.Load() != before+1 {
		t.Errorf("overridden: header %v, %d streams; want no change of responses, and one stream", md, p.Streams.Load()-before)
	}
	if _, err := out.Recv(); err == nil {
		t.Error("the method is not implemented; want an error")
	}
	p.Handle(func(fakeextproc.Stream) error { return status.Error(codes.DataLoss, "full") })
	if _, err := c.EmptyCall(s.ctx, &testpb.Empty{}); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "full") {
		t.Errorf("a failed processor: %v; want INTERNAL and the reason", err)
	}
}

// The channel to the processor survives updates. 1,000 updates of the routes under unary and streaming calls lose no event.
func TestServerExtProcUnderUpdates(t *testing.T) {
	w, s, p := newProcessedWorld(t)
	routes := func(i int) {
		w.publishRoutes("routes", fmt.Sprintf(`virtual_hosts { domains: "*" typed_per_filter_config { key: "proc" value {
			[type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute] { overrides { request_attributes: "request.%d" } } } } %s }`, i, anyRoute))
	}
	routes(0)
	w.publishListener(s.listener(processedBy(p) + rds("routes")))
	s.awaitServing()
	var calls atomic.Int64
	done := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 4 {
		c := s.dial()
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				call := processedStream
				if i%2 == 0 {
					call = processedUnary
				}
				if err := call(s.ctx, c); err != nil {
					t.Errorf("a call during updates: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for i := range 1000 {
		routes(i + 1)
	}
	close(done)
	callers.Wait()
	if n := p.Streams.Load(); n != calls.Load() || n == 0 {
		t.Errorf("%d streams of %d calls; want one for each", n, calls.Load())
	}
	if n := p.Connections.Load(); n != 1 {
		t.Errorf("%d connections to the processor; want 1 for all updates", n)
	}
}

func processedUnary(ctx context.Context, c testpb.TestServiceClient) error {
	var header metadata.MD
	_, err := c.EmptyCall(ctx, &testpb.Empty{}, grpc.Header(&header))
	if err == nil && strings.Join(header["x-header"], "") != "proc" {
		err = fmt.Errorf("the header is %v; want x-header", header)
	}
	return err
}

// processedStream exchanges 10 messages, each of which must come back.
func processedStream(ctx context.Context, c testpb.TestServiceClient) error {
	s, err := c.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	for range 10 {
		if err := s.Send(&testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: []byte("a")}}); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if out, err := s.Recv(); err != nil || string(out.GetPayload().GetBody()) != "a" {
			return fmt.Errorf("the message %v: %w", out, err)
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last message: %w", err)
	}
	return nil
}
