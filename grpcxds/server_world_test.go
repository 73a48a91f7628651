package grpcxds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

const (
	listenerMessage = "envoy.config.listener.v3.Listener"
	routeMessage    = "envoy.config.route.v3.RouteConfiguration"
	extensionName   = "envoy.config.core.v3.TypedExtensionConfig"
	managerAny      = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager]`
	routerFilter    = `http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }`
	anyRoute        = `routes { match { prefix: "/" } non_forwarding_action {} }`
)

// A world is a control plane with the servers that it configures.
type world struct {
	testing.TB
	plane  *controlplane.Server
	config string // the bootstrap
	env    *xdsforge.Env
	ctx    context.Context
	// handshakes is how long draining filter chains wait for handshakes. 0 is the default of the servers.
	handshakes time.Duration
}

func newWorld(t testing.TB, opts ...xdsforge.Option) *world {
	t.Helper()
	plane, err := controlplane.Start([]string{listenerMessage, routeMessage, extensionName})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	config := fmt.Sprintf(`{"node": {"id": "web-1"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, plane.Addr())
	return newWorldOf(t, plane, config, opts...)
}

func newWorldOf(t testing.TB, plane *controlplane.Server, config string, opts ...xdsforge.Option) *world {
	t.Helper()
	env, err := xdsforge.NewEnv(append([]xdsforge.Option{
		xdsforge.WithBootstrap(parse(t, config)), xdsforge.WithTypes(Register), quick, xdsforge.WithLogger(slog.New(slog.DiscardHandler)),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	t.Cleanup(cancel)
	return &world{TB: t, plane: plane, config: config, env: env, ctx: ctx}
}

// An event is a mode change that a server reports.
type event struct {
	mode Mode
	err  error
}

// A site is a server that listens on one address.
type site struct {
	*world
	*Server
	addr   string
	port   int
	name   string // of the Listener
	events chan event
	served chan error
	// generation counts the Listeners of equal content.
	generation int
}

// serve runs a server until the test ends.
func (w *world) serve(opts ...grpc.ServerOption) *site {
	w.Helper()
	return w.serveWith(nil, opts...)
}

// serveWith runs a server after set has changed its configuration.
func (w *world) serveWith(set func(*ServerConfig), opts ...grpc.ServerOption) *site {
	w.Helper()
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	return w.serveOn(lis, set, opts...)
}

func (w *world) serveOn(lis net.Listener, set func(*ServerConfig), opts ...grpc.ServerOption) *site {
	w.Helper()
	s := &site{world: w, addr: lis.Addr().String(), port: lis.Addr().(*net.TCPAddr).Port, events: make(chan event, 1000), served: make(chan error, 1)}
	s.name = "server/" + s.addr
	c := ServerConfig{Env: w.env, ModeChanged: func(m ModeChange) { s.events <- event{m.Mode, m.Err} }}
	if set != nil {
		set(&c)
	}
	var err error
	s.Server, err = c.NewServer(opts...)
	if err != nil {
		w.Fatal(err)
	}
	s.Server.config.HandshakeLimit = cmp.Or(w.handshakes, s.Server.config.HandshakeLimit)
	testpb.RegisterTestServiceServer(s.Server, echo{})
	reflection.Register(s.Server) // as of a grpc.Server
	go func() { s.served <- s.Serve(lis) }()
	w.Cleanup(func() {
		s.Stop()
		if err := <-s.served; err != nil {
			w.Errorf("Serve: %v", err)
		}
	})
	return s
}

// await returns the server's next event.
func (s *site) await() event {
	s.Helper()
	select {
	case e := <-s.events:
		return e
	case <-s.ctx.Done():
		s.Fatal("the server reported nothing")
		return event{}
	}
}

func (s *site) awaitServing() {
	s.Helper()
	if e := s.await(); e.mode != Serving {
		s.Fatalf("%v: %v; want serving", e.mode, e.err)
	}
}

// listener returns a Listener for the site, with the contents of its HttpConnectionManager.
func (s *site) listener(manager string) string {
	return fmt.Sprintf(`name: %q address { socket_address { address: "127.0.0.1" port_value: %d } }
		filter_chains { %s }`, s.name, s.port, network(manager))
}

// network is the network filter of a chain.
func network(manager string) string {
	return `filters { name: "hcm" typed_config { ` + managerAny + ` { ` + manager + ` ` + routerFilter + ` } } }`
}

func rds(name string) string {
	return fmt.Sprintf(`rds { route_config_name: %q config_source { ads {} } }`, name)
}

func inline(hosts string) string {
	return fmt.Sprintf(`route_config { virtual_hosts { domains: "*" %s } }`, hosts)
}

// publish sets a resource that is given as text.
func (w *world) publish(m interface {
	proto.Message
	GetName() string
}, text string,
) {
	w.Helper()
	w.publishAs("", m, text)
}

// publishAs is publish under a name. If the name is empty, the resource's own is used.
func (w *world) publishAs(name string, m proto.Message, text string) {
	w.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		w.Fatalf("%v in %s", err, text)
	}
	if named, ok := m.(interface{ GetName() string }); ok && name == "" {
		name = named.GetName()
	}
	if err := w.plane.Set(name, m); err != nil {
		w.Fatal(err)
	}
}

func (w *world) publishListener(text string) { w.Helper(); w.publish(new(listenerv3.Listener), text) }

func (w *world) publishRoutes(name, hosts string) {
	w.Helper()
	w.publish(new(routev3.RouteConfiguration), fmt.Sprintf(`name: %q %s`, name, hosts))
}

// dial connects to the site.
func (s *site) dial(opts ...grpc.DialOption) testpb.TestServiceClient {
	s.Helper()
	return testpb.NewTestServiceClient(s.channel(opts...))
}

func (s *site) channel(opts ...grpc.DialOption) *grpc.ClientConn {
	s.Helper()
	cc, err := grpc.NewClient("passthrough:///"+s.addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	}, opts...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = cc.Close() })
	return cc
}

// call makes a unary call and returns its error.
func (s *site) call(c testpb.TestServiceClient, opts ...grpc.CallOption) *status.Status {
	s.Helper()
	_, err := c.EmptyCall(s.ctx, &testpb.Empty{}, opts...)
	return status.Convert(err)
}

// touch connects, and reports whether the server closed the connection without sending a byte.
func (s *site) touch() (closed bool) {
	s.Helper()
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr)
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := c.Read(make([]byte, 1))
	if n == 0 && err == nil {
		s.Fatal("a read of nothing")
	}
	return n == 0
}

// echo answers.
type echo struct {
	testpb.UnimplementedTestServiceServer
}

func (echo) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

func (echo) FullDuplexCall(ss testpb.TestService_FullDuplexCallServer) error {
	for {
		in, err := ss.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ss.Send(&testpb.StreamingOutputCallResponse{Payload: in.GetPayload()}); err != nil {
			return err
		}
	}
}

// eventually waits until a condition holds.
func (w *world) eventually(what string, so func() bool) {
	w.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			w.Fatalf("never: %s", what)
		}
	}
}

// connections is a [stats.Handler] that counts connections.
type connections struct{ begun, ended atomic.Int64 }

func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c *connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (c *connections) HandleRPC(context.Context, stats.RPCStats)                       {}

func (c *connections) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.begun.Add(1)
	case *stats.ConnEnd:
		c.ended.Add(1)
	}
}

// ping sends a message over a stream and receives its echo.
func ping(t testing.TB, ss testpb.TestService_FullDuplexCallClient) {
	t.Helper()
	if err := ss.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ss.Recv(); err != nil {
		t.Fatal(err)
	}
}

// finish ends a stream from the client's side.
func finish(t testing.TB, ss testpb.TestService_FullDuplexCallClient) {
	t.Helper()
	_ = ss.CloseSend()
	if _, err := ss.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v; want EOF", err)
	}
}

func (s *site) openStream(c testpb.TestServiceClient) testpb.TestService_FullDuplexCallClient {
	s.Helper()
	ss, err := c.FullDuplexCall(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	ping(s, ss)
	return ss
}

// A flakyListener fails a few times before it accepts.
type flakyListener struct {
	net.Listener
	failures atomic.Int64
}

func (l *flakyListener) Accept() (net.Conn, error) {
	if l.failures.Load() < 2 {
		l.failures.Add(1)
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}
