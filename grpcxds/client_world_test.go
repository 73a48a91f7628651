package grpcxds_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/environment"
)

const (
	listenerType = "envoy.config.listener.v3.Listener"
	routeType    = "envoy.config.route.v3.RouteConfiguration"
	clusterType  = "envoy.config.cluster.v3.Cluster"
	endpointType = "envoy.config.endpoint.v3.ClusterLoadAssignment"
	// extensionType is the type of configurations of HTTP filters (A104).
	extensionType = "envoy.config.core.v3.TypedExtensionConfig"
)

// A plane is a control plane.
type plane struct {
	testing.TB
	*controlplane.Server
}

func newPlane(t testing.TB) *plane {
	t.Helper()
	s, err := controlplane.Start([]string{listenerType, routeType, clusterType, endpointType, extensionType})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return &plane{t, s}
}

// entry is the server entry of the plane in a bootstrap.
func (p *plane) entry() string {
	return fmt.Sprintf(`{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}`, p.Addr())
}

func (p *plane) set(name string, m proto.Message, format string, args ...any) {
	p.Helper()
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		p.Fatal(err)
	}
	if err := p.Set(name, m); err != nil {
		p.Fatal(err)
	}
}

const (
	managerAny = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager]`
	routerAny  = `http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }`
)

// listener returns a Listener with inlined routes, or with the name of a RouteConfiguration.
func (p *plane) listener(name, routes string) {
	p.Helper()
	p.set(name, new(listenerv3.Listener), `name: %q api_listener { api_listener { `+managerAny+` { %s `+routerAny+` } } }`, name, routes)
}

func rds(name string) string {
	return fmt.Sprintf(`rds { config_source { ads {} } route_config_name: %q }`, name)
}

// hosts returns a virtual host for an authority.
func hosts(authority, routes string) string {
	return fmt.Sprintf(`virtual_hosts { name: "h" domains: %q %s }`, authority, routes)
}

// to returns a route to a cluster.
func to(cluster string) string {
	return fmt.Sprintf(`routes { match { prefix: "" } route { cluster: %q } }`, cluster)
}

func (p *plane) routes(name, text string) {
	p.Helper()
	p.set(name, new(routev3.RouteConfiguration), `name: %q %s`, name, text)
}

// cluster returns a cluster of backends. service is the name of its endpoints.
func (p *plane) cluster(name, service string, backends ...*backend) {
	p.Helper()
	p.set(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } service_name: %q }`, name, service)
	p.endpoints(service, backends...)
}

func (p *plane) endpoints(service string, backends ...*backend) {
	p.Helper()
	m := &endpointv3.ClusterLoadAssignment{}
	text := ""
	for _, b := range backends {
		text += fmt.Sprintf(`lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } `, b.port)
	}
	p.set(service, m, `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 } %s }`, service, text)
}

// A backend responds with its name.
type backend struct {
	name   string
	port   int
	server *grpc.Server
}

func newBackend(t testing.TB, name string, opts ...grpc.ServerOption) *backend {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{name: name, port: l.Addr().(*net.TCPAddr).Port}
	b.start(t, l, opts...)
	return b
}

// start serves on a socket until the end of the test.
func (b *backend) start(t testing.TB, l net.Listener, opts ...grpc.ServerOption) {
	t.Helper()
	serve := grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return b.serve(s) })
	s := grpc.NewServer(append(opts, serve)...)
	b.server = s
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
}

// serve answers every message.
func (b *backend) serve(s grpc.ServerStream) error {
	for {
		if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
			return nil //nolint:nilerr // the caller has sent everything
		}
		if err := s.SendMsg(wrapperspb.String(b.name)); err != nil {
			return err
		}
	}
}

// quick makes xDS clients retry soon.
var quick = environment.WithClient(func(o *client.Options) {
	o.Backoff.Base, o.Backoff.Max, o.Backoff.Factor = 10*time.Millisecond, 100*time.Millisecond, 1.6
})

// newEnv returns an Env for a bootstrap, with further options.
func newEnv(t testing.TB, config string, opts ...xdsforge.Option) *xdsforge.Env {
	t.Helper()
	c, err := bootstrap.Parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	e, err := xdsforge.NewEnv(append([]xdsforge.Option{xdsforge.WithBootstrap(c), xdsforge.WithTypes(grpcxds.Register), quick}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// newChannel returns a channel for a target.
func newChannel(t testing.TB, e *xdsforge.Env, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	return dialWith(t, grpcxds.Dialer{Env: e}, target, opts...)
}

// dialWith creates a channel for a target.
func dialWith(t testing.TB, d grpcxds.Dialer, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	cc, err := d.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

// call returns the name of the backend that handled a call.
func call(ctx context.Context, cc *grpc.ClientConn, method string, opts ...grpc.CallOption) (string, error) {
	reply := new(wrapperspb.StringValue)
	err := cc.Invoke(ctx, method, wrapperspb.String("?"), reply, opts...)
	return reply.GetValue(), err
}

// soon returns a context for steps that must not take long.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// until calls until somebody answers.
func until(t testing.TB, cc *grpc.ClientConn, who string) {
	t.Helper()
	ctx := soon(t)
	for {
		got, err := call(ctx, cc, "/p.S/M")
		switch {
		case got == who:
			return
		case ctx.Err() != nil:
			t.Fatalf("it is never %s who answers; the last one was %q, %v", who, got, err)
		}
	}
}
