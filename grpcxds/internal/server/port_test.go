package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"                       // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// A stage is a port with its control plane and its clients.
type stage struct {
	*testing.T
	plane  *controlplane.Server
	config Config
	port   *Port
	addr   *net.TCPAddr
	modes  chan error
	served chan error
	echo   *echo
}

// echo blocks EmptyCall while held is not nil.
type echo struct {
	testpb.UnimplementedTestServiceServer

	held    atomic.Pointer[chan struct{}]
	started chan struct{}
}

func (e *echo) EmptyCall(ctx context.Context, in *testpb.Empty) (*testpb.Empty, error) {
	if held := e.held.Load(); held != nil {
		e.started <- struct{}{}
		select {
		case <-*held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return in, nil
}

func (*echo) FullDuplexCall(s testpb.TestService_FullDuplexCallServer) error {
	for {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	plane, err := controlplane.Start([]string{"envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration"})
	check(t, err)
	t.Cleanup(plane.Stop)
	boot, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, plane.Addr()))
	check(t, err)
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	check(t, err)
	c, err := client.New(boot, types, client.Options{})
	check(t, err)
	t.Cleanup(func() { _ = c.Close() }) // closing connections that are not needed
	chains, err := filterchain.New([]httpfilter.Filter{{HTTPFilter: router.Filter()}, *rbac.Filter()})
	check(t, err)
	providers, err := security.NewProviders(boot, nil)
	check(t, err)
	t.Cleanup(providers.Close)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)

	s := &stage{T: t, plane: plane, modes: make(chan error, 100), served: make(chan error, 1), echo: &echo{started: make(chan struct{}, 1)}}
	s.config = Config{
		Config: server.Config{
			Package: "grpcxds", Client: c, Providers: providers,
			Report: func(_ net.Addr, err error) { s.modes <- err },
			Grace:  time.Minute,
			Logger: slog.New(slog.DiscardHandler),
		},
		Chains:         chains,
		Register:       func(r grpc.ServiceRegistrar) { testpb.RegisterTestServiceServer(r, s.echo) },
		HandshakeLimit: time.Second,
	}
	s.addr, _ = lis.Addr().(*net.TCPAddr)
	s.port, err = NewPort(&s.config, lis, "web")
	check(t, err)
	go func() { s.served <- s.port.Serve() }()
	t.Cleanup(func() {
		s.port.Stop()
		if err := <-s.served; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stage) publish(m interface {
	proto.Message
	GetName() string
}, text string,
) {
	s.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		s.Fatalf("%v in %s", err, text)
	}
	check(s.T, s.plane.Set(m.GetName(), m))
}

const (
	hcm        = `filters { name: "hcm" typed_config { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] { `
	allowAll   = `http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] {} } } `
	routerEnd  = `http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } } `
	denyAll    = `typed_per_filter_config { key: "rbac" value { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute] { rbac { rules { action: ALLOW } } } } } `
	permitAll  = `typed_per_filter_config { key: "rbac" value { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute] {} } } `
	everything = `route_config { virtual_hosts { domains: "*" routes { match { prefix: "/" } non_forwarding_action {} } } } `
)

// listener publishes a Listener with the given chains.
func (s *stage) listener(chains string) {
	s.Helper()
	s.publish(new(listenerv3.Listener), fmt.Sprintf(`name: "web" address { socket_address { address: "127.0.0.1" port_value: %d } } %s`, s.addr.Port, chains))
}

// serving waits until the port reports that it serves, or that it does not, with a part of the
// reason.
func (s *stage) serving(reason string) {
	s.Helper()
	err := receive(s.T, s.modes)
	if (err == nil) != (reason == "") || err != nil && !strings.Contains(err.Error(), reason) {
		s.Fatalf("the port reports %v, want %q", err, reason)
	}
}

func receive[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case v = <-from:
	case <-limit.C:
		t.Fatal("nothing happened")
	}
	return v
}

func (s *stage) dial() *grpc.ClientConn {
	s.Helper()
	cc, err := grpc.NewClient(s.addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("service.example"))
	check(s.T, err)
	s.Cleanup(func() { _ = cc.Close() }) // it is not needed any more
	return cc
}

// unary calls EmptyCall. stream sends and receives a message of FullDuplexCall.
func unary(ctx context.Context, cc *grpc.ClientConn) error {
	_, err := testpb.NewTestServiceClient(cc).EmptyCall(ctx, &testpb.Empty{})
	return err
}

func stream(ctx context.Context, cc *grpc.ClientConn) error {
	st, err := testpb.NewTestServiceClient(cc).FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	if err := st.Send(&testpb.StreamingOutputCallRequest{}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := st.Recv(); err != nil {
		return err
	}
	if err := st.CloseSend(); err != nil {
		return err
	}
	if _, err := st.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream is still open: %w", err)
	}
	return nil
}

func wants(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	if st := status.Convert(err); st.Code() != code || !strings.Contains(st.Message(), text) {
		t.Errorf("the call ends with %v; want %s with %q", err, code, text)
	}
}

// until makes calls until a condition holds.
func (s *stage) until(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			s.Fatalf("timed out; want that %s", what)
		}
	}
}

// closedWithoutAByte reports whether the port closes a connection at once.
func (s *stage) closedWithoutAByte() bool {
	s.Helper()
	c, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", s.addr.String())
	check(s.T, err)
	defer func() { _ = c.Close() }()
	check(s.T, c.SetReadDeadline(time.Now().Add(time.Minute)))
	n, err := c.Read(make([]byte, 1))
	return n == 0 && err != nil && !errors.Is(err, context.DeadlineExceeded)
}

// TestPort follows one port through Listeners and routes.
func TestPort(t *testing.T) {
	s := newStage(t)
	if !s.closedWithoutAByte() {
		t.Error("a port without a Listener sends something")
	}

	// Each method has its own route. The virtual host denies all other calls.
	s.listener(`filter_chains { ` + hcm + `route_config { virtual_hosts { name: "h" domains: "service.example" ` + denyAll + `
		routes { name: "unary" match { path: "/grpc.testing.TestService/EmptyCall" } non_forwarding_action {} ` + permitAll + ` }
		routes { name: "denied" match { path: "/grpc.testing.TestService/UnaryCall" } non_forwarding_action {} }
		routes { name: "stream" match { path: "/grpc.testing.TestService/FullDuplexCall" } non_forwarding_action {} ` + permitAll + ` }
		routes { name: "client" match { path: "/grpc.testing.TestService/HalfDuplexCall" } route { cluster: "c" } ` + permitAll + ` }
	} } ` + allowAll + routerEnd + `}`)
	s.serving("")
	if c := s.port.Describe(time.Now()).Generations[0].FilterChains; len(c) != 1 || c[0].Routes != "web" || c[0].Err != "" {
		t.Errorf("the filter chains are described as %+v, want one with the routes of the Listener", c)
	}
	cc := s.dial()
	c := testpb.NewTestServiceClient(cc)
	wants(t, unary(t.Context(), cc), codes.OK, "")
	wants(t, stream(t.Context(), cc), codes.OK, "")
	_, err := c.UnaryCall(t.Context(), &testpb.SimpleRequest{})
	wants(t, err, codes.PermissionDenied, "")
	_, err = c.UnimplementedCall(t.Context(), &testpb.Empty{})
	wants(t, err, codes.Unavailable, `virtual host "h" of RouteConfiguration "web" has no route for /grpc.testing.TestService/UnimplementedCall`)
	half, err := c.HalfDuplexCall(t.Context())
	if err == nil {
		_, err = half.Recv()
	}
	wants(t, err, codes.Unavailable, `the route "client" of RouteConfiguration "web" is not for servers`)

	// The next Listener has its own routes, which arrive later.
	s.listener(`filter_chains { ` + hcm + `rds { route_config_name: "r" config_source { ads {} } } ` + allowAll + routerEnd + `}`)
	s.publish(new(routev3.RouteConfiguration), `name: "r" virtual_hosts { domains: "other.example" routes { match { prefix: "/" } non_forwarding_action {} } }`)
	cc = s.dial()
	s.until("the routes are those of the new Listener", func() bool { return status.Code(unary(t.Context(), cc)) == codes.Unavailable })
	wants(t, unary(t.Context(), cc), codes.Unavailable, `RouteConfiguration "r" has no virtual host for the authority "service.example"`)
	s.publish(new(routev3.RouteConfiguration), `name: "r" virtual_hosts { domains: "*" routes { match { prefix: "/" } non_forwarding_action {} } }`)
	s.until("the same connection has the new routes", func() bool { return unary(t.Context(), cc) == nil })

	// First no chain matches the connection, and then the default chain does.
	elsewhere := `filter_chains { filter_chain_match { source_prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } } } ` + hcm + everything + routerEnd + `} `
	s.listener(elsewhere)
	s.until("a connection without a filter chain is closed", func() bool { return unary(t.Context(), s.dial()) != nil })
	if !s.closedWithoutAByte() {
		t.Error("a connection without a filter chain gets something")
	}
	s.listener(elsewhere + `default_filter_chain { ` + hcm + everything + routerEnd + `}`)
	s.until("the default filter chain serves", func() bool { return unary(t.Context(), s.dial()) == nil })
}

// TestDrain expects the calls of an old Listener to continue, and connections to move to the new
// one.
func TestDrain(t *testing.T) {
	s := newStage(t)
	chain := `filter_chains { name: %q ` + hcm + everything + routerEnd + `}`
	s.listener(fmt.Sprintf(chain, "one"))
	s.serving("")
	held := make(chan struct{})
	s.echo.held.Store(&held)
	cc, ended := s.dial(), make(chan error, 1)
	go func() { ended <- unary(t.Context(), cc) }()
	receive(t, s.echo.started)

	s.listener(fmt.Sprintf(chain, "two"))
	s.echo.held.Store(nil)
	generations := func() int {
		wants(t, unary(t.Context(), cc), codes.OK, "") // at any time
		return len(s.port.Describe(time.Now()).Generations)
	}
	s.until("the old generation, whose call goes on, and the new one serve", func() bool { return generations() == 2 })
	close(held)
	wants(t, receive(t, ended), codes.OK, "")
	s.until("the old generation is gone", func() bool { return generations() == 1 })
}

// TestGrace expects calls of an old Listener to end after the grace time.
func TestGrace(t *testing.T) {
	for _, grace := range []time.Duration{0, 50 * time.Millisecond} {
		t.Run(grace.String(), func(t *testing.T) { testGrace(t, grace) })
	}
}

func testGrace(t *testing.T, grace time.Duration) {
	s := newStage(t)
	s.config.Grace = grace
	chain := `filter_chains { name: %q ` + hcm + everything + routerEnd + `}`
	s.listener(fmt.Sprintf(chain, "one"))
	s.serving("")
	held := make(chan struct{})
	s.echo.held.Store(&held)
	ended := make(chan error, 1)
	cc := s.dial()
	go func() { ended <- unary(t.Context(), cc) }()
	receive(t, s.echo.started)
	s.listener(fmt.Sprintf(chain, "two"))
	wants(t, receive(t, ended), codes.Unavailable, "")
}

// TestGracefulStop expects a call in flight to succeed.
func TestGracefulStop(t *testing.T) {
	s := newStage(t)
	s.config.Grace = 0 // is not that of a graceful stop
	s.listener(`filter_chains { ` + hcm + everything + routerEnd + `}`)
	s.serving("")
	held := make(chan struct{})
	s.echo.held.Store(&held)
	ended, stopped := make(chan error, 1), make(chan struct{})
	cc := s.dial()
	go func() { ended <- unary(t.Context(), cc) }()
	receive(t, s.echo.started)
	go func() { s.port.GracefulStop(); close(stopped) }()
	if err := receive(t, s.served); err != nil {
		t.Errorf("Serve = %v", err)
	}
	s.served <- nil // for the end of the test
	late := time.NewTimer(50 * time.Millisecond)
	defer late.Stop()
	select {
	case err := <-ended:
		t.Errorf("the call ends with %v before it is done", err)
	case <-late.C:
	}
	close(held)
	wants(t, receive(t, ended), codes.OK, "")
	receive(t, stopped)
}

// TestStops ends a port gracefully while a call is in flight, and then at once.
func TestStops(t *testing.T) {
	s := newStage(t)
	s.listener(`filter_chains { ` + hcm + everything + routerEnd + `}`)
	s.serving("")
	held := make(chan struct{})
	s.echo.held.Store(&held)
	ended, stopped := make(chan error, 1), make(chan struct{})
	cc := s.dial()
	go func() { ended <- unary(t.Context(), cc) }()
	receive(t, s.echo.started)
	go func() { s.port.GracefulStop(); close(stopped) }()
	if err := receive(t, s.served); err != nil {
		t.Errorf("Serve = %v", err)
	}
	s.served <- nil // for the end of the test
	select {
	case <-stopped:
		t.Error("GracefulStop does not wait for a call")
	default:
	}
	s.port.Stop()
	wants(t, receive(t, ended), codes.Unavailable, "")
	receive(t, stopped)
}

// TestListenerOfAClientIsRefused also expects a report for a Listener that is removed and then sent
// again.
func TestListenerOfAClientIsRefused(t *testing.T) {
	s := newStage(t)
	s.publish(new(listenerv3.Listener), `name: "web" api_listener { api_listener { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] { `+everything+
		`http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`)
	s.serving("it is a listener of clients")
	if !s.closedWithoutAByte() {
		t.Error("a Listener of clients is served")
	}
	s.listener(`filter_chains { ` + hcm + everything + routerEnd + `}`)
	s.serving("")
	wants(t, unary(t.Context(), s.dial()), codes.OK, "")
}

// TestCallersAreToldTheResourceOnly expects statuses without causes, servers and the node.
func TestCallersAreToldTheResourceOnly(t *testing.T) {
	r := compiler{Problems: new(server.Problems), nodeID: ""}
	err := r.fail(fmt.Errorf("somewhere: %w", &resource.Error{
		Kind: resource.ErrInvalid, Type: "a.b.RouteConfiguration", Server: "secret:1", NodeID: "node-1", Err: errors.New("cause"),
	}))
	wants(t, err, codes.Unavailable, "RouteConfiguration")
	for _, secret := range []string{"secret:1", "node-1", "cause"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the status contains %q: %v", secret, err)
		}
	}
	wants(t, r.fail(errors.New("cause")), codes.Unavailable, "the configuration of the route cannot be used")
	if problems := r.Texts(); len(problems) != 2 || !strings.Contains(problems[0], "secret:1") {
		t.Errorf("the problems for the log are %q", problems)
	}
}
