package extproc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extproc"
	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The modes of all events, and of headers only.
const (
	allModes    = `"processing_mode": {"request_body_mode": "GRPC", "response_body_mode": "GRPC", "response_trailer_mode": "SEND"}`
	headerModes = `"processing_mode": {"response_trailer_mode": "SEND"}`
)

type (
	request  = extprocv3.ProcessingRequest
	response = extprocv3.ProcessingResponse
)

// A world has a processor, and a backend.
type world struct {
	testing.TB
	*fakeextproc.Server
	meter   metric.Meter
	backend *grpc.ClientConn
	wrap    func(grpc.ClientStream) grpc.ClientStream // wraps the rest of a call, if not nil

	onServer bool // the filter runs on the server
	handle   func(grpc.ServerStream) error
	dial     []grpc.DialOption // of the client
	options  []grpc.CallOption // of the client
	serve    []grpc.ServerOption
	limit    time.Duration // the deadline of calls
	most     int           // the limit of messages that the client receives; 0: none
}

type newWorldFunc = func(testing.TB, func(grpc.ServerStream) error) *world

// onBothSides runs a test with the filter on a channel and on a server.
func onBothSides(t *testing.T, test func(*testing.T, newWorldFunc)) {
	t.Helper()
	t.Run("client", func(t *testing.T) { test(t, newWorld) })
	t.Run("server", func(t *testing.T) { test(t, newServerWorld) })
}

// newWorld starts a processor, and a backend with a handler.
func newWorld(t testing.TB, handle func(grpc.ServerStream) error) *world {
	t.Helper()
	p, err := fakeextproc.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	cc := serveUnknown(t, func(_ any, s grpc.ServerStream) error { return handle(s) }, nil)
	return &world{TB: t, Server: p, meter: noop.Meter{}, backend: cc, handle: handle, limit: 5 * time.Minute}
}

// newServerWorld returns a world whose filter runs on the server.
func newServerWorld(t testing.TB, handle func(grpc.ServerStream) error) *world {
	t.Helper()
	w := newWorld(t, handle)
	w.onServer = true
	return w
}

// host returns the host of a filter. Its channels are not shared.
func (w *world) host() httpfilter.Host {
	return httpfilter.Host{
		Name: "extproc", Target: "xds:///shop", Logger: slog.New(slog.DiscardHandler), Meter: w.meter,
		Channel: func(s *grpcservice.Service) (grpc.ClientConnInterface, func(), error) {
			cc, err := grpc.NewClient(s.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			return cc, func() { _ = cc.Close() }, err
		},
	}
}

// parse reads a configuration for the processor, with further fields.
func (w *world) parse(more string) any {
	w.Helper()
	c, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {"` + w.Addr() + `": {"channel_creds": [{"type": "insecure"}]}}}`))
	if err != nil {
		w.Fatal(err)
	}
	fields := new(structpb.Struct)
	if err := fields.UnmarshalJSON([]byte(`{"grpc_service": {"google_grpc": {"target_uri": "` + w.Addr() + `"}}, ` + more + `}`)); err != nil {
		w.Fatal(err)
	}
	f := extproc.Filter()
	out, err := f.Parse(&resource.DecodeContext{Bootstrap: c, Server: c.Servers()[0]}, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// A clientCall is a call on a channel.
type clientCall struct {
	testing.TB
	grpc.ClientStream
	call    *httpfilter.ClientCall
	sent    metadata.MD
	below   context.Context //nolint:containedctx // of the rest of the call
	options []grpc.CallOption
}

// client begins a call with streams in both directions.
func (w *world) client(config string, md ...string) *clientCall {
	w.Helper()
	if w.onServer {
		return w.server(w.parse(config), md...)
	}
	return w.clientOf(w.parse(config), true, md...)
}

func (w *world) clientOf(config any, serverStreams bool, md ...string) *clientCall {
	w.Helper()
	instance, err := extproc.Filter().NewClient(w.host())
	if err != nil {
		w.Fatal(err)
	}
	i, err := instance.Interceptor(config, nil)
	if err != nil {
		w.Fatal(err)
	}
	c := &clientCall{TB: w.TB, call: &httpfilter.ClientCall{Method: "/p.S/M", Cluster: "c", ClientStreams: true, ServerStreams: serverStreams, MaxReceive: w.most}}
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	ctx = metadata.AppendToOutgoingContext(ctx, md...)
	rest := func(ctx context.Context, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		c.sent, _ = metadata.FromOutgoingContext(ctx)
		c.below, c.options = ctx, opts
		rest, err := w.backend.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: serverStreams}, "/p.S/M", opts...)
		if err == nil && w.wrap != nil {
			rest = w.wrap(rest)
		}
		return rest, err
	}
	c.ClientStream, err = i.NewStream(ctx, c.call, rest)
	if err != nil {
		c.ClientStream = failedStream{err: err}
	}
	w.Cleanup(func() {
		c.call.Done(nil)
		cancel()
		_ = i.(io.Closer).Close()
		instance.Close()
	})
	return c
}

// A failedStream is a call that did not begin.
type failedStream struct {
	grpc.ClientStream
	err error
}

func (failedStream) SendMsg(any) error              { return io.EOF }
func (failedStream) CloseSend() error               { return nil }
func (s failedStream) RecvMsg(any) error            { return s.err }
func (s failedStream) Header() (metadata.MD, error) { return nil, s.err }
func (failedStream) Trailer() metadata.MD           { return nil }

// say sends messages.
func (c *clientCall) say(messages ...string) {
	c.Helper()
	for _, m := range messages {
		if err := c.SendMsg(wrapperspb.String(m)); err != nil && !errors.Is(err, io.EOF) {
			c.Fatal(err)
		}
	}
}

// hear receives all messages and the status. OK is nil.
func (c *clientCall) hear() (out string, err error) {
	c.Helper()
	var all []string
	for {
		m := new(wrapperspb.StringValue)
		if err = c.RecvMsg(m); err != nil {
			break
		}
		all = append(all, m.GetValue())
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	c.call.Done(err)
	return strings.Join(all, ","), err
}

// exchange sends messages and the half-close, and receives all.
func (c *clientCall) exchange(messages ...string) (string, error) {
	c.Helper()
	c.say(messages...)
	if err := c.CloseSend(); err != nil {
		c.Fatal(err)
	}
	return c.hear()
}

// echo is a backend that returns all messages, with the header x-seen and the trailer x-end.
func echo(s grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	_ = s.SendHeader(metadata.Pairs("x-seen", strings.Join(md["x-user"], ",")))
	s.SetTrailer(metadata.Pairs("x-end", "1"))
	for {
		m := new(wrapperspb.StringValue)
		if err := s.RecvMsg(m); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
}

// changing returns a handler of the processor that changes its responses.
func changing(change func(in *request, out *response) []*response) func(fakeextproc.Stream) error {
	return func(s fakeextproc.Stream) error {
		return (&fakeextproc.Mirror{Change: change}).Process(s)
	}
}
