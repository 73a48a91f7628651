package clustermanager_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

const spyName = "balancertest_spy"

// A spy is the policy with the last state that it reported to the channel.
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

// observed has the observations of the spy. One benchmark runs at a time.
var observed = new(spy)

// BenchmarkPick measures a call from the top of the tree to a real subchannel and back, with two
// localities of five servers.
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
				_, _ = w.call(b.Context(), lbtree.Call{Cluster: "c", Hash: uint64(i) << 56, HasHash: true})
			}
			picker := observed.last.Load().Picker
			call := &lbtree.Call{Cluster: "c", HasHash: true}
			info := balancer.PickInfo{Ctx: lbtree.WithCall(b.Context(), call)}
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
	last     atomic.Pointer[balancer.State]
}

// wake makes a call to each of the clusters, none of which is ever ready, and waits until all have
// their subchannels.
func (d *desert) wake(clusters []string, subConns int64) {
	for _, name := range clusters {
		ctx := lbtree.WithCall(context.Background(), &lbtree.Call{Cluster: name})
		_, _ = d.last.Load().Picker.Pick(balancer.PickInfo{Ctx: ctx})
	}
	for d.subConns.Load() != subConns {
		runtime.Gosched()
	}
}

type mirage struct{ balancer.SubConn }

func (mirage) Connect()  {}
func (mirage) Shutdown() {}

func (d *desert) NewSubConn([]resolver.Address, balancer.NewSubConnOptions) (balancer.SubConn, error) {
	d.subConns.Add(1)
	return new(mirage), nil
}
func (d *desert) UpdateState(s balancer.State)          { d.last.Store(&s) }
func (d *desert) ResolveNow(resolver.ResolveNowOptions) {}

// BenchmarkManyClusters builds the tree of 1,000 clusters with 100 endpoints each, and changes one
// of them. It does not include the cost of a real channel's subchannels.
func BenchmarkManyClusters(b *testing.B) {
	const n, m = 1000, 100
	clusters := make(map[string]xdsconfig.Cluster, n)
	config := &xdsconfig.Config{Clusters: clusters}
	for i := range n {
		l := endpoint.Locality{Weight: 1}
		for j := range m {
			l.Endpoints = append(l.Endpoints, endpoint.New(fmt.Sprintf("10.%d.%d.%d:80", i/256, i%256, j)))
		}
		name := fmt.Sprintf("cluster-%d", i)
		clusters[name] = eds(roundRobin, l)
		config.Targets = append(config.Targets, name)
	}
	state := func(c *xdsconfig.Config) balancer.ClientConnState {
		return balancer.ClientConnState{ResolverState: resolver.State{Attributes: lbtree.WithState(nil, &lbtree.State{Config: c})}}
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
			b.ReportMetric(float64(time.Since(start).Microseconds()), "µs/asleep")
			d.wake(config.Targets, n*m)
			b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/awake")
			b.ReportMetric(float64(live()-before)/n/m, "B/endpoint")
			lb.Close()
		}
	})
	b.Run("change one", func(b *testing.B) {
		d := new(desert)
		lb := balancer.Get(clustermanager.Name).Build(d, balancer.BuildOptions{})
		defer lb.Close()
		_ = lb.UpdateClientConnState(state(config))
		d.wake(config.Targets, n*m)
		b.ReportAllocs()
		for b.Loop() {
			c := clusters["cluster-7"]
			c.Localities = append([]endpoint.Locality(nil), c.Localities...)
			clusters["cluster-7"] = c
			_ = lb.UpdateClientConnState(state(config))
		}
	})
}

// live returns the memory in use.
func live() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// BenchmarkDescribe describes a tree of 10,000 endpoints.
func BenchmarkDescribe(b *testing.B) {
	l := endpoint.Locality{Weight: 1}
	for j := range 10_000 {
		l.Endpoints = append(l.Endpoints, endpoint.New(fmt.Sprintf("10.0.%d.%d:80", j/256, j%256)))
	}
	config := &xdsconfig.Config{Clusters: map[string]xdsconfig.Cluster{"c": eds(roundRobin, l)}, Targets: []string{"c"}}
	d, trees := new(desert), new(lbtree.Trees)
	lb := balancer.Get(clustermanager.Name).Build(d, balancer.BuildOptions{})
	defer lb.Close()
	if err := lb.UpdateClientConnState(balancer.ClientConnState{
		ResolverState: resolver.State{Attributes: lbtree.WithState(nil, &lbtree.State{Config: config, Trees: trees})},
	}); err != nil {
		b.Fatal(err)
	}
	d.wake(config.Targets, 10_000)
	tree := trees.All()[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, clusters, err := tree.Describe(b.Context()); err != nil || len(clusters[0].Leaves[0].Priorities[0].Localities[0].Endpoints) != 10_000 {
			b.Fatal(err)
		}
	}
}
