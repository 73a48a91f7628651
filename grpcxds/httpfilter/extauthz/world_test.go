package extauthz_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extauthz"
	"github.com/xdsforge/xdsforge/internal/fakeauthz"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world has an authorization server, and the host of a filter.
type world struct {
	testing.TB
	*fakeauthz.Server
	meter    metric.Meter
	released int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s, err := fakeauthz.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return &world{TB: t, Server: s, meter: noop.Meter{}}
}

// host returns the host of a filter. Its channels are not shared.
func (w *world) host() httpfilter.Host {
	return httpfilter.Host{
		Name: "authz", Target: "xds:///shop", Logger: slog.New(slog.DiscardHandler), Meter: w.meter,
		Channel: func(s *grpcservice.Service) (grpc.ClientConnInterface, func(), error) {
			cc, err := grpc.NewClient(s.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			return cc, func() { w.released++; _ = cc.Close() }, err
		},
	}
}

// parse reads a configuration for the authorization server, with further fields.
func (w *world) parse(more string) any {
	w.Helper()
	c, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {"` + w.Addr() + `": {"channel_creds": [{"type": "insecure"}]}}}`))
	if err != nil {
		w.Fatal(err)
	}
	fields := new(structpb.Struct)
	if err := fields.UnmarshalJSON([]byte(`{"grpc_service": {"google_grpc": {"target_uri": "` + w.Addr() + `"}}` + more + `}`)); err != nil {
		w.Fatal(err)
	}
	f := extauthz.Filter()
	out, err := f.Parse(&resource.DecodeContext{Bootstrap: c, Server: c.Servers()[0]}, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// A result is the result of a call, on either side.
type result struct {
	err               error
	request           metadata.MD // of the rest of the call; nil: it did not begin
	header, trailer   metadata.MD // of the response
	metadataOfFilters metadata.MD // the metadata that later filters see
}

// An exchange describes the rest of a call.
type exchange struct {
	request metadata.MD // of the call
	header  metadata.MD // that the server sends; nil: only trailers
	err     error
}

// client makes a call on a channel.
func (w *world) client(ctx context.Context, config any, x exchange) (out result) {
	w.Helper()
	instance, err := extauthz.Filter().NewClient(w.host())
	if err != nil {
		w.Fatal(err)
	}
	defer instance.Close()
	i, err := instance.Interceptor(config, nil)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = i.(io.Closer).Close() }()
	call := &httpfilter.ClientCall{Method: "/p.S/M", Cluster: "c", Metadata: x.request}
	s, err := i.NewStream(metadata.NewOutgoingContext(ctx, x.request), call, func(ctx context.Context, _ ...grpc.CallOption) (grpc.ClientStream, error) {
		out.request, _ = metadata.FromOutgoingContext(ctx)
		return rest{x}, nil
	})
	if out.err = err; err != nil {
		return out
	}
	_ = s.SendMsg(nil)
	_ = s.CloseSend()
	out.err = s.RecvMsg(nil)
	out.header, _ = s.Header()
	out.trailer, out.metadataOfFilters = s.Trailer(), call.Metadata
	if s.Context() == nil {
		w.Error("the stream has no context")
	}
	return out
}

// rest is the rest of a client's call.
type rest struct{ x exchange }

func (r rest) Header() (metadata.MD, error) { return r.x.header, nil }
func (rest) Trailer() metadata.MD           { return nil }
func (rest) CloseSend() error               { return nil }
func (rest) Context() context.Context       { return context.Background() }
func (rest) SendMsg(any) error              { return nil }
func (r rest) RecvMsg(any) error            { return r.x.err }

// server handles a call on a server.
func (w *world) server(ctx context.Context, config any, x exchange) (out result) {
	w.Helper()
	return w.serverCall(ctx, config, x, &httpfilter.ServerCall{Method: "/p.S/M"})
}

func (w *world) serverCall(ctx context.Context, config any, x exchange, call *httpfilter.ServerCall) (out result) {
	w.Helper()
	instance, err := extauthz.Filter().NewServer(w.host())
	if err != nil {
		w.Fatal(err)
	}
	defer instance.Close()
	i, err := instance.Interceptor(config, nil)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = i.(io.Closer).Close() }()
	call.Metadata = x.request
	ss := new(serverStream)
	out.err = i.Handle(metadata.NewIncomingContext(ctx, x.request), call, ss, func(ctx context.Context, ss grpc.ServerStream) error {
		out.request, _ = metadata.FromIncomingContext(ctx)
		out.metadataOfFilters = call.Metadata
		if x.header != nil {
			for name, values := range x.header {
				for _, value := range values {
					if err := ss.SetHeader(metadata.Pairs(name, value)); err != nil {
						return err
					}
				}
			}
			if x.err == nil {
				if err := ss.SendMsg(nil); err != nil {
					return err
				}
			}
		}
		return x.err
	})
	out.header, out.trailer = ss.header, ss.trailer
	return out
}

// A serverStream is the stream of a server's call.
type serverStream struct {
	grpc.ServerStream
	header, trailer metadata.MD
	sent            bool
}

func (s *serverStream) SetHeader(md metadata.MD) error {
	if s.sent {
		return io.ErrClosedPipe
	}
	s.header = metadata.Join(s.header, md)
	return nil
}

func (s *serverStream) SendHeader(md metadata.MD) error {
	err := s.SetHeader(md)
	s.sent = true
	return err
}

func (s *serverStream) SetTrailer(md metadata.MD) { s.trailer = metadata.Join(s.trailer, md) }

func (s *serverStream) SendMsg(any) error {
	s.sent = true
	return nil
}

// values returns the values of a header.
func values(md metadata.MD, name string) string { return strings.Join(md[name], ",") }
