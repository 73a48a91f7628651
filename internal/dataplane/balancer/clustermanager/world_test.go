package clustermanager_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/loopback"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

func TestMain(m *testing.M) {
	clustermanager.Register()
	balancer.Register(customBuilder{})
	balancer.Register(chooser{})
	balancer.Register(observed)
	registerOwn()
	goleak.VerifyTestMain(m)
}

// A backend is a real server.
type backend struct {
	testpb.UnimplementedTestServiceServer
	addr   string
	calls  atomic.Int64
	server *grpc.Server
	// handle, if not nil, handles calls after they are counted.
	handle atomic.Pointer[func(ctx context.Context) error]
}

// UnaryCall returns the name of the server.
func (b *backend) UnaryCall(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	b.calls.Add(1)
	if f := b.handle.Load(); f != nil {
		if err := (*f)(ctx); err != nil {
			return nil, err
		}
	}
	return &testpb.SimpleResponse{Hostname: b.addr}, nil
}

func (b *backend) does(f func(ctx context.Context) error) { b.handle.Store(&f) }

// start starts a server on a port of its own.
func start(t testing.TB, opts ...grpc.ServerOption) *backend {
	t.Helper()
	return nowhere(t).start(t, opts...)
}

// start starts a server at the address of b.
func (b *backend) start(t testing.TB, opts ...grpc.ServerOption) *backend {
	t.Helper()
	l, err := net.Listen("tcp", b.addr) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	b = &backend{addr: b.addr, server: grpc.NewServer(opts...)}
	testpb.RegisterTestServiceServer(b.server, b)
	go func() { _ = b.server.Serve(l) }() // ends with Stop
	t.Cleanup(b.server.Stop)
	return b
}

func startAll(t testing.TB, n int) []*backend {
	t.Helper()
	var all []*backend
	for range n {
		all = append(all, start(t))
	}
	return all
}

// A world is a channel with the policy.
type world struct {
	*grpc.ClientConn
	t        testing.TB
	resolver *manual.Resolver
	started  bool
	state    lbtree.State
	plugins  map[string]resource.LBConfig
	client   testpb.TestServiceClient
}

func newWorld(t testing.TB, opts ...grpc.DialOption) *world {
	t.Helper()
	w := &world{t: t, resolver: manual.NewBuilderWithScheme("balancertest")}
	w.state.Config = &xdsconfig.Config{Clusters: make(map[string]xdsconfig.Cluster)}
	opts = append([]grpc.DialOption{grpc.WithDefaultServiceConfig(clustermanager.ServiceConfig)}, opts...)
	opts = append(opts, grpc.WithResolvers(w.resolver), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableServiceConfig())
	cc, err := grpc.NewClient(w.resolver.Scheme()+":///test", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	w.ClientConn, w.client = cc, testpb.NewTestServiceClient(cc)
	return w
}

// set changes the configuration. Calls can go to the clusters in targets, or to all if it is nil.
func (w *world) set(clusters map[string]xdsconfig.Cluster, targets ...string) {
	c := &xdsconfig.Config{Clusters: clusters, Targets: targets, Plugins: w.plugins}
	if targets == nil {
		for name := range clusters {
			c.Targets = append(c.Targets, name)
		}
	}
	s := w.state
	s.Config = c
	w.state = s
	next := resolver.State{Attributes: lbtree.WithState(nil, &s)}
	if w.started {
		w.resolver.UpdateState(next)
		return
	}
	w.started = true
	w.resolver.InitialState(next)
	w.Connect()
}

// one sets a configuration of one cluster, "c".
func (w *world) one(c xdsconfig.Cluster) { w.set(map[string]xdsconfig.Cluster{"c": c}) }

// call makes a call to a cluster and returns the address of the server.
func (w *world) call(ctx context.Context, call lbtree.Call, opts ...grpc.CallOption) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := w.client.UnaryCall(lbtree.WithCall(ctx, &call), &testpb.SimpleRequest{}, opts...)
	return r.GetHostname(), err
}

// to makes a call to a cluster that must succeed.
func (w *world) to(name string, opts ...grpc.CallOption) string {
	w.t.Helper()
	addr, err := w.call(context.Background(), lbtree.Call{Cluster: name}, opts...)
	if err != nil {
		w.t.Fatalf("a call to %q: %v", name, err)
	}
	return addr
}

// until makes calls to a cluster until one of these servers responds.
func (w *world) until(name string, wanted func(addr string, err error) bool) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		addr, err := w.call(ctx, lbtree.Call{Cluster: name})
		cancel()
		if wanted(addr, err) {
			return
		}
	}
	w.t.Fatalf("no call to %q reached the wanted server", name)
}

func at(want ...*backend) func(string, error) bool {
	return func(addr string, err error) bool {
		for _, b := range want {
			if err == nil && b.addr == addr {
				return true
			}
		}
		return false
	}
}

// roundRobin is xds_wrr_locality of round_robin. round is only round_robin.
var (
	round      = resource.LBConfig{Name: "round_robin", Config: `{}`}
	roundRobin = resource.LBConfig{Name: "xds_wrr_locality_experimental", Config: `{"childPolicy":[{"round_robin":{}}]}`}
	ringHash   = resource.LBConfig{Name: "ring_hash_experimental", Config: `{"minRingSize":1024,"maxRingSize":8388608}`}
)

// eds returns a cluster of localities.
func eds(lb resource.LBConfig, localities ...endpoint.Locality) xdsconfig.Cluster {
	return xdsconfig.Cluster{
		Update: &cluster.Update{Discovery: cluster.EDS{ServiceName: "service"}, LBPolicy: lb, MaxRequests: 1024},

		Localities: localities,
		Note:       errors.New("node id is test"),
	}
}

// locality returns a locality with an endpoint for each server.
func locality(region string, priority, weight uint32, servers ...*backend) endpoint.Locality {
	l := endpoint.Locality{ID: endpoint.LocalityID{Region: region}, Priority: priority, Weight: weight}
	for _, b := range servers {
		l.Endpoints = append(l.Endpoints, endpoint.New(b.addr))
	}
	return l
}

// nowhere returns a backend that does not listen. Nobody else gets its port before the end of the test.
func nowhere(t testing.TB) *backend {
	t.Helper()
	port, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = port.Close() })
	return &backend{addr: port.Addr()}
}

// spread makes n calls and counts them by server.
func (w *world) spread(n int, call func(i int) lbtree.Call) map[string]int {
	w.t.Helper()
	got := make(map[string]int)
	for i := range n {
		addr, err := w.call(context.Background(), call(i))
		if err != nil {
			addr = fmt.Sprint(err)
		}
		got[addr]++
	}
	return got
}
