package sidechannel_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesstokenv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/call_credentials/access_token/v3"
	insecurev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/insecure/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/internal/sidechannel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A variant changes a service.
type variant func(*corev3.GrpcService)

func service(t *testing.T, target string, variants ...variant) *grpcservice.Service {
	t.Helper()
	creds, err := anypb.New(&insecurev3.InsecureCredentials{})
	if err != nil {
		t.Fatal(err)
	}
	m := &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_GoogleGrpc_{GoogleGrpc: &corev3.GrpcService_GoogleGrpc{
		TargetUri: target, ChannelCredentialsPlugin: []*anypb.Any{creds},
	}}}
	for _, change := range variants {
		change(m)
	}
	server, err := bootstrap.ParseServer([]byte(`{"server_uri": "x", "channel_creds": [{"type": "insecure"}], "server_features": ["trusted_xds_server"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var v resource.Violations
	s := grpcservice.Read(&resource.DecodeContext{Server: server}, resource.Path{}, m, nil, &v)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	return s
}

func withTimeout(m *corev3.GrpcService) { m.Timeout = durationpb.New(time.Second) }

func withHeader(m *corev3.GrpcService) {
	m.InitialMetadata = []*corev3.HeaderValue{{Key: "x-service", Value: "1"}}
}

func withToken(m *corev3.GrpcService) {
	token, _ := anypb.New(&accesstokenv3.AccessTokenCredentials{Token: "secret"}) // it always marshals
	m.GetGoogleGrpc().CallCredentialsPlugin = []*anypb.Any{token}
}

// A world is a service in memory that answers with a header of the call.
type world struct {
	*sidechannel.Cache
	dials, releases atomic.Int64
	creds           credentials.TransportCredentials
	handle          func(grpc.ServerStream) error
}

func newWorld(t *testing.T, opts ...grpc.ServerOption) *world {
	t.Helper()
	lis := bufconn.Listen(1 << 16)
	w := &world{creds: insecure.NewCredentials()}
	s := grpc.NewServer(append(opts, grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error { return w.handle(ss) }))...)
	w.handle = func(ss grpc.ServerStream) error {
		if err := ss.RecvMsg(new(wrapperspb.StringValue)); err != nil {
			return err
		}
		md, _ := metadata.FromIncomingContext(ss.Context())
		return ss.SendMsg(wrapperspb.String(strings.Join(append(md["x-service"], append(md["x-call"], md["authorization"]...)...), ",")))
	}
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	w.Cache = sidechannel.New(func(s *grpcservice.Service) (*grpc.ClientConn, func(), error) {
		if s.String() == "bad" {
			return nil, nil, errors.New("no credentials")
		}
		w.dials.Add(1)
		cc, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(w.creds), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
		return cc, func() { w.releases.Add(1) }, err
	})
	t.Cleanup(w.Close)
	return w
}

func (w *world) open(t *testing.T, s *grpcservice.Service) (grpc.ClientConnInterface, func()) {
	t.Helper()
	cc, release, err := w.Channel(s)
	if err != nil {
		t.Fatal(err)
	}
	return cc, release
}

func call(ctx context.Context, cc grpc.ClientConnInterface) (string, error) {
	reply := new(wrapperspb.StringValue)
	err := cc.Invoke(ctx, "/s.S/M", wrapperspb.String(""), reply)
	return reply.GetValue(), err
}

// Services with one target and one set of channel credentials share a channel. The last release closes it.
func TestSharing(t *testing.T) {
	w := newWorld(t)
	a, releaseA := w.open(t, service(t, "dns:///a.example:1"))
	_, releaseB := w.open(t, service(t, "a.example:1", withTimeout, withHeader, withToken))
	_, releaseC := w.open(t, service(t, "b:1"))
	if w.dials.Load() != 2 || w.Len() != 2 {
		t.Errorf("%d channels were created, %d are open; want 2", w.dials.Load(), w.Len())
	}
	releaseB()
	releaseB()
	if _, err := call(t.Context(), a); err != nil || w.Len() != 2 {
		t.Errorf("after a second release of another use: %v, %d channels; want no effect", err, w.Len())
	}
	releaseA()
	if _, err := call(t.Context(), a); status.Code(err) != codes.Canceled || w.Len() != 1 || w.releases.Load() != 1 {
		t.Errorf("after the last release: %v, %d channels, %d releases; want CANCELED, 1, 1", err, w.Len(), w.releases.Load())
	}
	w.Close()
	releaseC()
	if w.releases.Load() != 2 {
		t.Errorf("%d releases of credentials after Close; want 2", w.releases.Load())
	}
	for _, s := range []*grpcservice.Service{service(t, "a:1"), nil, {}} {
		if _, _, err := w.Channel(s); err == nil {
			t.Errorf("Channel(%+v) after Close; want an error", s)
		}
	}
}

// A service whose channel cannot be created is not kept.
func TestDialFails(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.Channel(service(t, "bad")); err == nil || w.Len() != 0 {
		t.Errorf("%v, %d channels; want an error and none", err, w.Len())
	}
}

// The number of channels is limited.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	for i := range 1000 {
		w.open(t, service(t, "a:"+strings.Repeat("1", i+1)))
	}
	if _, _, err := w.Channel(service(t, "b:1")); err == nil || !strings.Contains(err.Error(), "must be at most 1000") {
		t.Errorf("the 1001st channel: %v; want the limit", err)
	}
	if _, _, err := w.Channel(service(t, "a:1")); err != nil {
		t.Errorf("a channel that is open: %v", err)
	}
}

// A call has the headers of its service, and not those of the call that causes it. A token needs a protected connection.
func TestHeaders(t *testing.T) {
	for _, protected := range []bool{false, true} {
		w := newWorld(t)
		want := "1"
		if protected {
			w.creds, want = confidential{insecure.NewCredentials()}, "1,Bearer secret"
		}
		cc, release := w.open(t, service(t, "a:1", withHeader, withToken))
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-call", "2", "x-service", "3")
		if got, err := call(ctx, cc); got != want || err != nil {
			t.Errorf("protected %t: a unary call sends %q, %v; want %q", protected, got, err, want)
		}
		s, err := cc.NewStream(ctx, &grpc.StreamDesc{}, "/s.S/M")
		if err != nil {
			t.Fatal(err)
		}
		reply := new(wrapperspb.StringValue)
		_, err = s.SendMsg(wrapperspb.String("")), s.RecvMsg(reply)
		if reply.GetValue() != want || err != nil {
			t.Errorf("protected %t: a stream sends %q, %v; want %q", protected, reply.GetValue(), err, want)
		}
		release()
	}
}

// confidential are credentials that claim to protect a connection.
type confidential struct {
	credentials.TransportCredentials
}

type confidentialInfo struct{ credentials.CommonAuthInfo }

func (confidentialInfo) AuthType() string { return "confidential" }

func (c confidential) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, _, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	return conn, confidentialInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, err
}

func (c confidential) Clone() credentials.TransportCredentials {
	return confidential{c.TransportCredentials.Clone()}
}

// The time limit of a service ends its calls.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.handle = func(ss grpc.ServerStream) error {
			<-ss.Context().Done()
			return ss.Context().Err()
		}
		cc, release := w.open(t, service(t, "a:1", withTimeout))
		start := time.Now()
		if _, err := call(t.Context(), cc); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("a unary call: %v; want DEADLINE_EXCEEDED", err)
		}
		s, err := cc.NewStream(t.Context(), &grpc.StreamDesc{}, "/s.S/M")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RecvMsg(new(wrapperspb.StringValue)); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("a stream: %v; want DEADLINE_EXCEEDED", err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("both take %v; want 2s", d)
		}
		release()
		w.Close()
	})
}

// Users take and release channels at the same time.
func TestConcurrentUse(t *testing.T) {
	w := newWorld(t)
	var users sync.WaitGroup
	for i := range 8 {
		s := service(t, "a:"+strings.Repeat("1", i%2+1))
		users.Go(func() {
			for range 200 {
				cc, release, err := w.Channel(s)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := call(context.Background(), cc); err != nil {
					t.Errorf("a call on a channel in use: %v", err)
				}
				release()
			}
		})
	}
	users.Wait()
	if w.Len() != 0 || w.dials.Load() != w.releases.Load() {
		t.Errorf("%d channels are open; %d were created, %d released; want all released", w.Len(), w.dials.Load(), w.releases.Load())
	}
}
