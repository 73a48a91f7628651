package grpcxds_test

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
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// extProc starts a processor.
func extProc(t testing.TB) *fakeextproc.Server {
	t.Helper()
	s, err := fakeextproc.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// processed returns the filter with the name "proc".
func processed(target, more string) string {
	return fmt.Sprintf(`http_filters { name: "proc" typed_config { [type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor] {
		grpc_service { google_grpc { target_uri: %q } } %s } } } `, target, more)
}

const allEvents = `processing_mode { request_body_mode: GRPC response_body_mode: GRPC response_trailer_mode: SEND }`

// rewriting is a processor that adds its name to messages, and to the headers and trailers of a call.
func rewriting(s fakeextproc.Stream) error {
	header := func(name string) *extprocv3.HeaderMutation {
		return &extprocv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: name, RawValue: []byte("proc")}, AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD}}}
	}
	return (&fakeextproc.Mirror{Change: func(_ *extprocv3.ProcessingRequest, out *extprocv3.ProcessingResponse) []*extprocv3.ProcessingResponse {
		switch r := out.GetResponse().(type) {
		case *extprocv3.ProcessingResponse_RequestHeaders:
			r.RequestHeaders.Response = &extprocv3.CommonResponse{HeaderMutation: header("x-user")}
		case *extprocv3.ProcessingResponse_ResponseHeaders:
			r.ResponseHeaders.Response = &extprocv3.CommonResponse{HeaderMutation: header("x-header")}
		case *extprocv3.ProcessingResponse_ResponseTrailers:
			r.ResponseTrailers.HeaderMutation = header("x-trailer")
		case *extprocv3.ProcessingResponse_ResponseBody:
			in := new(wrapperspb.StringValue)
			if err := proto.Unmarshal(fakeextproc.Message(out).GetBody(), in); err != nil {
				return nil
			}
			fakeextproc.Message(out).Body, _ = proto.Marshal(wrapperspb.String(in.GetValue() + "+proc"))
		}
		return []*extprocv3.ProcessingResponse{out}
	}}).Process(s)
}

// The processor sees unary calls as streams. Overrides change the modes, or disable the filter.
func TestExtProc(t *testing.T) {
	p, s := newPlane(t), extProc(t)
	s.Handle(rewriting)
	p.cluster("c", "e", headersOf(t, "x-user"))
	override := func(text string) string {
		return `typed_per_filter_config { key: "proc" value { ` + text + ` } } `
	}
	off := override(`[type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true }`)
	headers := override(`[type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute] { overrides { processing_mode { response_header_mode: SKIP } } }`)
	p.listener("svc", processed(s.Addr(), allEvents)+`route_config { name: "r" `+hosts("*",
		`routes { match { prefix: "/open" } `+off+` route { cluster: "c" } } routes { match { prefix: "/some" } `+headers+` route { cluster: "c" } } `+to("c"))+`}`)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, p.entry(), s.Addr()))
	cc := newChannel(t, env, "xds:///svc")
	for method, want := range map[string]string{"/p.S/M": "proc+proc proc proc", "/some/M": "proc  ", "/open/M": "mallory  "} {
		var header, trailer metadata.MD
		ctx := metadata.AppendToOutgoingContext(soon(t), "x-user", "mallory")
		got, err := call(ctx, cc, method, grpc.Header(&header), grpc.Trailer(&trailer))
		if got := got + " " + strings.Join(header["x-header"], ",") + " " + strings.Join(trailer["x-trailer"], ","); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", method, got, err, want)
		}
	}
	s.Handle(func(fakeextproc.Stream) error { return status.Error(codes.DataLoss, "full") })
	if _, err := call(soon(t), cc, "/p.S/M"); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "full") {
		t.Errorf("a failed processor: %v; want INTERNAL and the reason", err)
	}
}

// The channel to the processor survives updates. 2,000 updates under unary and streaming calls lose no event.
func TestExtProcUnderUpdates(t *testing.T) {
	p, s := newPlane(t), extProc(t)
	s.Handle(rewriting)
	p.cluster("c", "e", headersOf(t, "x-user"))
	listen := func(i int) {
		p.listener("svc", processed(s.Addr(), fmt.Sprintf(`stat_prefix: "%d" %s`, i, allEvents))+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
	}
	listen(0)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, p.entry(), s.Addr()))
	cc := newChannel(t, env, "xds:///svc")
	ctx := soon(t)
	var callers sync.WaitGroup
	var calls atomic.Int64
	done := make(chan struct{})
	for i := range 4 {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				send := stream
				if i%2 == 0 {
					send = func(ctx context.Context, cc *grpc.ClientConn) (string, error) { return call(ctx, cc, "/p.S/M") }
				}
				got, err := send(ctx, cc)
				if got != "proc+proc" || err != nil {
					t.Errorf("a call during updates: %q, %v; want proc+proc", got, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for i := range 2000 {
		listen(i + 1)
	}
	close(done)
	callers.Wait()
	if n := s.Streams.Load(); n != calls.Load() || n == 0 {
		t.Errorf("%d streams of %d calls; want one for each", n, calls.Load())
	}
	if n := s.Connections.Load(); n != 1 {
		t.Errorf("%d connections to the processor; want 1 for all updates", n)
	}
}

// stream makes a call with streams in both directions, and returns the only response.
func stream(ctx context.Context, cc *grpc.ClientConn) (string, error) {
	s, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/p.S/M")
	if err != nil {
		return "", err
	}
	if err := s.SendMsg(wrapperspb.String("?")); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if err := s.CloseSend(); err != nil {
		return "", err
	}
	out := new(wrapperspb.StringValue)
	if err := s.RecvMsg(out); err != nil {
		return "", err
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("after the only response: %w", err)
	}
	return out.GetValue(), nil
}
