package clustermanager_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

// The first call to a cluster connects it. If the program waits for the channel to be ready without
// making calls, one cluster connects.
func TestClustersAreCreatedLazily(t *testing.T) {
	w := newWorld(t)
	accepted := make(map[string]*atomic.Int64)
	clusters := make(map[string]xdsconfig.Cluster)
	for _, name := range []string{"a", "b", "c"} {
		n := new(atomic.Int64)
		accepted[name] = n
		clusters[name] = eds(roundRobin, locality("x", 0, 1, start(t, grpc.StatsHandler(connections{n}))))
	}
	w.resolver.InitialState(resolver.State{Attributes: lbtree.WithState(nil, &lbtree.State{Config: &xdsconfig.Config{
		Clusters: clusters, Targets: []string{"a", "b", "c"},
	}})})
	expect := func(when string, a, b, c int64) {
		t.Helper()
		if accepted["a"].Load() != a || accepted["b"].Load() != b || accepted["c"].Load() != c {
			t.Errorf("%s: %d, %d, %d connections; want %d, %d, %d", when,
				accepted["a"].Load(), accepted["b"].Load(), accepted["c"].Load(), a, b, c)
		}
	}
	w.to("b")
	expect("after a call to b", 0, 1, 0)
	w.to("c")
	w.to("b")
	expect("after calls to b and c", 0, 1, 1)

	idle := newWorld(t)
	idle.set(clusters)
	for s := idle.GetState(); s != connectivity.Ready; s = idle.GetState() {
		if s == connectivity.Idle {
			idle.Connect()
		}
		if !idle.WaitForStateChange(t.Context(), s) {
			t.Fatal("the channel is never ready")
		}
	}
	idle.to("a") // the server may notice a little later
	expect("after waiting for another channel", 1, 1, 1)

	called := newWorld(t)
	over := make(chan func(), 10)
	called.state.Connect, called.state.Waiting = true, func(f func()) bool {
		over <- f
		return true
	}
	called.set(clusters) // which calls Connect
	called.to("b")
	(<-over)()
	called.to("b")
	expect("after a call that has connected its channel", 1, 2, 1)
	if len(over) > 0 {
		t.Error("the policy waits for the end of the same calls again")
	}
}

// connections counts the connections of a server.
type connections struct{ n *atomic.Int64 }

func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (connections) HandleRPC(context.Context, stats.RPCStats)                         {}

func (c connections) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnBegin); ok {
		c.n.Add(1)
	}
}

// An unchanged cluster does nothing when another one changes.
func TestUnchangedClustersDoNothing(t *testing.T) {
	b := startAll(t, 2)
	w := newWorld(t, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+spyName+`":{}}]}`))
	same := eds(resource.LBConfig{Name: customName, Config: `{"index":0}`}, locality("x", 0, 1, b[0]))
	w.one(same)
	w.to("c")
	updates := customUpdates.Load()
	for range 3 {
		w.set(map[string]xdsconfig.Cluster{"c": same, "other": eds(roundRobin, locality("x", 0, 1, b[1]))})
		w.to("other")
	}
	if got := customUpdates.Load() - updates; got != 0 {
		t.Errorf("a cluster that has not changed had its policy updated %d times", got)
	}
	if s := observed.last.Load(); s.ConnectivityState != connectivity.Ready {
		t.Errorf("the channel is %v, want READY", s.ConnectivityState)
	}
}

// A cluster without endpoints fails calls. Once it has endpoints, calls wait for them, as in gRPC,
// and do not get the outdated error.
func TestCallsWaitForTheFirstEndpoints(t *testing.T) {
	for name, lb := range map[string]resource.LBConfig{"round_robin": round, "localities": roundRobin} {
		t.Run(name, func(t *testing.T) {
			// The socket accepts connections, and nobody responds on them.
			silent, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = silent.Close() }()
			w := newWorld(t)
			w.one(eds(lb))
			w.until("c", func(_ string, err error) bool { return status.Code(err) == codes.Unavailable })
			w.one(eds(lb, locality("a", 0, 1, &backend{addr: silent.Addr().String()})))
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := w.call(ctx, lbtree.Call{Cluster: "c"}); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%v; want a call that waits for the connection", err)
			}
		})
	}
}

// TestRemovedCluster expects calls to a removed cluster to fail, even if it was in use. A
// configuration without clusters is valid.
func TestRemovedCluster(t *testing.T) {
	b := startAll(t, 2)
	w := newWorld(t)
	w.set(map[string]xdsconfig.Cluster{})
	a, other := eds(roundRobin, locality("x", 0, 1, b[0])), eds(roundRobin, locality("x", 0, 1, b[1]))
	w.set(map[string]xdsconfig.Cluster{"a": a, "b": other})
	w.to("a")
	w.to("b")
	w.set(map[string]xdsconfig.Cluster{"a": a})
	w.until("b", func(_ string, err error) bool {
		return status.Code(err) == codes.Unavailable && strings.Contains(status.Convert(err).Message(), "not in the configuration")
	})
	w.to("a")
}
