package clustermanager_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/grpcxds/internal/rpcinfo"
	"github.com/xdsforge/xdsforge/grpcxds/internal/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

const spyName = "balancertest_spy"

// A spy is the policy, with the state that it told the channel last.
type spy struct {
	last atomic.Pointer[balancer.State]
}

func (*spy) Name() string { return spyName }

func (s *spy) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	return balancer.Get(clustermanager.Name).Build(&spied{cc, s}, o)
}

type spied struct {
	balancer.ClientConn
	spy *spy
}

func (s *spied) UpdateState(state balancer.State) {
	s.spy.last.Store(&state)
	s.ClientConn.UpdateState(state)
}

// observed is what the spy sees; one benchmark runs at a time.
var observed = new(spy)

// BenchmarkPick is what a call costs from the top of the tree to a real subchannel and back:
// two localities of five servers.
func BenchmarkPick(b *testing.B) {
	servers := startAll(b, 10)
	within := func(name string) resource.LBConfig {
		return resource.LBConfig{Name: "xds_wrr_locality_experimental", Config: `{"childPolicy":[{"` + name + `":{}}]}`}
	}
	for name, lb := range map[string]resource.LBConfig{
		"round_robin": roundRobin, "ring_hash": ringHash, "least_request": within("least_request_experimental"),
		"weighted_round_robin": within("weighted_round_robin"), "pick_first": within("pick_first"),
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+spyName+`":{}}]}`))
			w.one(eds(lb, locality("x", 0, 1, servers[:5]...), locality("y", 0, 1, servers[5:]...)))
			for i := range 100 {
				_, _ = w.call(b.Context(), rpcinfo.Call{Cluster: "c", Hash: uint64(i) << 56, HasHash: true})
			}
			picker := observed.last.Load().Picker
			call := &rpcinfo.Call{Cluster: "c", HasHash: true}
			info := balancer.PickInfo{Ctx: rpcinfo.With(b.Context(), call)}
			b.ReportAllocs()
			for b.Loop() {
				if r, err := picker.Pick(info); err == nil && r.Done != nil {
					r.Done(balancer.DoneInfo{})
				}
			}
		})
	}
}

// A desert is a channel whose subchannels never connect.
type desert struct {
	balancer.ClientConn
	subConns atomic.Int64
	states   atomic.Int64
}

type mirage struct{ balancer.SubConn }

func (mirage) Connect()  {}
func (mirage) Shutdown() {}

func (d *desert) NewSubConn([]resolver.Address, balancer.NewSubConnOptions) (balancer.SubConn, error) {
	d.subConns.Add(1)
	return new(mirage), nil
}
func (d *desert) UpdateState(balancer.State)            { d.states.Add(1) }
func (d *desert) ResolveNow(resolver.ResolveNowOptions) {}

// BenchmarkManyClusters builds the tree of 1,000 clusters with 100 endpoints each, and
// changes one of them. What the subchannels of a real channel cost is not part of it.
func BenchmarkManyClusters(b *testing.B) {
	const n, m = 1000, 100
	clusters := make(map[string]xdsconfig.Cluster, n)
	config := &xdsconfig.Config{Clusters: clusters}
	for i := range n {
		l := endpoint.Locality{Weight: 1}
		for j := range m {
			l.Endpoints = append(l.Endpoints, endpoint.Endpoint{Addresses: []string{fmt.Sprintf("10.%d.%d.%d:80", i/256, i%256, j)}, Weight: 1})
		}
		name := fmt.Sprintf("cluster-%d", i)
		clusters[name] = eds(roundRobin, l)
		config.Targets = append(config.Targets, name)
	}
	state := func(c *xdsconfig.Config) balancer.ClientConnState {
		return balancer.ClientConnState{ResolverState: resolver.State{Attributes: xdsconfig.With(nil, &xdsconfig.State{Config: c})}}
	}
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d := new(desert)
			lb := balancer.Get(clustermanager.Name).Build(d, balancer.BuildOptions{})
			before := live()
			start := time.Now()
			if err := lb.UpdateClientConnState(state(config)); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/tree")
			b.ReportMetric(float64(live()-before)/n/m, "B/endpoint")
			if d.subConns.Load() != n*m {
				b.Fatalf("%d subchannels", d.subConns.Load())
			}
			lb.Close()
		}
	})
	b.Run("change one", func(b *testing.B) {
		lb := balancer.Get(clustermanager.Name).Build(new(desert), balancer.BuildOptions{})
		defer lb.Close()
		_ = lb.UpdateClientConnState(state(config))
		b.ReportAllocs()
		for b.Loop() {
			c := clusters["cluster-7"]
			c.Localities = append([]endpoint.Locality(nil), c.Localities...)
			clusters["cluster-7"] = c
			_ = lb.UpdateClientConnState(state(config))
		}
	})
}

// live is how much memory is in use.
func live() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// Without a change, clusters do nothing when another one changes.
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
