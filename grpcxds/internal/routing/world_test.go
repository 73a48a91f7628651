package routing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/grpcxds/internal/routing"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/internal/telemetry"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// policy is an LB policy that picks the address whose server name is the cluster. It drops calls
// for the cluster "dropped".
const policy = "routing_test"

func TestMain(m *testing.M) {
	balancer.Register(base.NewBalancerBuilder(policy, byCluster{}, base.Config{}))
	goleak.VerifyTestMain(m)
}

type byCluster struct{}

func (byCluster) Build(info base.PickerBuildInfo) balancer.Picker {
	p := make(clusterPicker)
	for sc, i := range info.ReadySCs {
		p[i.Address.ServerName] = sc
	}
	return p
}

type clusterPicker map[string]balancer.SubConn

// A drop is the error of a call that load balancing drops.
type drop struct{}

func (drop) Error() string              { return "dropped" }
func (drop) Dropped() bool              { return true }
func (drop) GRPCStatus() *status.Status { return status.New(codes.Unavailable, "dropped") }

func (p clusterPicker) Pick(i balancer.PickInfo) (balancer.PickResult, error) {
	call := lbtree.CallOf(i.Ctx)
	if call.Cluster == "dropped" {
		dropped.Add(1)
		return balancer.PickResult{}, drop{}
	}
	sc, ok := p[call.Cluster]
	if !ok {
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
	}
	r := balancer.PickResult{SubConn: sc}
	if call.AutoHostRewrite {
		r.Metadata = metadata.Pairs(":authority", "rewritten")
	}
	if call.Authority != nil {
		r.Metadata = call.Authority
	}
	return r, nil
}

// A world is a channel with servers, one for each cluster. The test sets its route tables.
type world struct {
	t       testing.TB
	channel *routing.Interceptors
	cc      *grpc.ClientConn
	filters []httpfilter.Filter
	metrics *telemetry.Target

	mu     sync.Mutex
	handle func(cluster string, s grpc.ServerStream) error
	calls  map[string]int
}

// clusters are the clusters that have servers.
var clusters = []string{"a", "b", "c"}

func newWorld(t testing.TB, opts ...grpc.DialOption) *world {
	t.Helper()
	w := &world{t: t, channel: routing.NewInterceptors(), calls: make(map[string]int)}
	w.filters = []httpfilter.Filter{{HTTPFilter: router.Filter()}}
	var addresses []resolver.Address
	for _, name := range clusters {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return w.serve(name, s) }))
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		addresses = append(addresses, resolver.Address{Addr: l.Addr().String(), ServerName: name})
	}
	r := manual.NewBuilderWithScheme("test")
	r.BuildCallback = func(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) {
		r.InitialState(resolver.State{
			Addresses:     addresses,
			ServiceConfig: cc.ParseServiceConfig(fmt.Sprintf(`{"loadBalancingConfig":[{%q:{}}]}`, policy)),
		})
	}
	cc, err := grpc.NewClient("test:///svc", append(opts, grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(w.channel.Unary), grpc.WithChainStreamInterceptor(w.channel.Stream))...)
	if err != nil {
		t.Fatal(err)
	}
	w.cc = cc
	t.Cleanup(func() { _ = cc.Close() })
	return w
}

// serve responds with the name of the cluster unless the test sets another behaviour.
func (w *world) serve(cluster string, s grpc.ServerStream) error {
	w.mu.Lock()
	handle := w.handle
	w.calls[cluster]++
	w.mu.Unlock()
	if handle != nil {
		return handle(cluster, s)
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
		return err
	}
	return s.SendMsg(wrapperspb.String(cluster))
}

func (w *world) handler(f func(cluster string, s grpc.ServerStream) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handle = f
}

// took returns how many calls each server got since the last time.
func (w *world) took() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = make(map[string]int)
	return calls
}

// config returns the configuration with these routes, after parts of a Listener.
func (w *world) config(manager, routes string, opts ...plugincase.Option) *xdsconfig.Config {
	w.t.Helper()
	filters := make([]resource.Extension, 0, len(w.filters))
	for _, f := range w.filters[1:] {
		filters = append(filters, f.HTTPFilter)
	}
	opts = append(opts, plugincase.Extend(func(r resource.Registrar) {
		for _, f := range filters {
			r.Extend(f)
		}
	}))
	l := plugincase.Read[*listener.Update](w.t, listener.Type(), new(listenerv3.Listener), fmt.Sprintf(`name: "l"
		api_listener { api_listener { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		%s http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		route_config { %s } } } }`, manager, routes), opts...)
	r := l.API.Routes.(listener.Inline).Config.(*route.Update)
	return &xdsconfig.Config{Listener: l, Route: r, VirtualHost: r.VirtualHost("svc")}
}

// route sets the routes of the channel. routes follows "domains" in the virtual host.
func (w *world) route(routes string, opts ...plugincase.Option) {
	w.t.Helper()
	w.manage("", routes, opts...)
}

func (w *world) manage(manager, routes string, opts ...plugincase.Option) {
	w.t.Helper()
	c := w.config(manager, `virtual_hosts { name: "h" domains: "svc" `+routes+` }`, opts...)
	w.channel.Set(w.channel.Compile(c, w.settings()), nil)
}

func (w *world) settings() routing.Settings {
	w.t.Helper()
	table, err := filterchain.New(w.filters)
	if err != nil {
		w.t.Fatal(err)
	}
	return routing.Settings{Filters: table, Where: `grpcxds: target "xds:///svc", authority "svc"`, NodeID: "n", Metrics: w.metrics}
}

// call makes a unary call and returns the server's response.
func (w *world) call(ctx context.Context, method string, opts ...grpc.CallOption) (string, error) {
	reply := new(wrapperspb.StringValue)
	err := w.cc.Invoke(ctx, method, wrapperspb.String("?"), reply, opts...)
	return reply.GetValue(), err
}

// stream makes a streaming call with one message and returns the server's response.
func (w *world) stream(ctx context.Context, method string, opts ...grpc.CallOption) (string, error) {
	s, err := w.open(ctx, method, opts...)
	if err != nil {
		return "", err
	}
	return exchange(s)
}

// exchange ends a stream with one message and returns the server's response.
func exchange(s grpc.ClientStream) (string, error) {
	if err := s.SendMsg(wrapperspb.String("?")); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if err := s.CloseSend(); err != nil {
		return "", err
	}
	reply := new(wrapperspb.StringValue)
	if err := s.RecvMsg(reply); err != nil {
		return "", err
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("the stream is still open: %w", err)
	}
	return reply.GetValue(), nil
}

func (w *world) open(ctx context.Context, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return w.cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, opts...)
}

// both runs a test for unary and streaming calls.
func (w *world) both(t *testing.T, test func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error))) {
	t.Helper()
	t.Run("unary", func(t *testing.T) { test(t, w.call) })
	t.Run("stream", func(t *testing.T) { test(t, w.stream) })
}

// soon returns a context for steps that must not take long.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
