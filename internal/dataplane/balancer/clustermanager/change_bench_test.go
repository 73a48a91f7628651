package clustermanager_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/process"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A stage is a desert that signals each new state.
type stage struct {
	desert
	states chan struct{}
}

func (s *stage) UpdateState(state balancer.State) {
	s.desert.UpdateState(state)
	s.states <- struct{}{}
}

// numbered returns a locality of n endpoints. The version decides the port of one of them.
func numbered(n, version int) endpoint.Locality {
	l := endpoint.Locality{Weight: 1, Endpoints: make([]endpoint.Endpoint, 0, n)}
	for i := range n {
		port := 80
		if i == n/2 {
			port += version % 1000
		}
		l.Endpoints = append(l.Endpoints, endpoint.New(fmt.Sprintf("10.%d.%d.%d:%d", i>>16, i>>8&255, i&255, port)))
	}
	return l
}

// BenchmarkOneEndpointChanges replaces one of many endpoints of a cluster, until the channel has the
// new picker. It does not include the cost of a real channel's subchannels.
func BenchmarkOneEndpointChanges(b *testing.B) {
	for _, bm := range []struct {
		name string
		lb   resource.LBConfig
		// states is the number of states that the tree reports for a change. A policy of gRPC
		// reports its own after the update.
		states int
	}{{"round_robin", roundRobin, 1}, {"ring_hash", ringHash, 1}} {
		for _, n := range []int{10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", bm.name, n), func(b *testing.B) {
				s := &stage{states: make(chan struct{}, 100)}
				lb := balancer.Get(clustermanager.Name).Build(s, balancer.BuildOptions{})
				defer lb.Close()
				update := func(l endpoint.Locality, states int) {
					c := &xdsconfig.Config{Targets: []string{"c"}, Clusters: map[string]xdsconfig.Cluster{"c": eds(bm.lb, l)}}
					if err := lb.UpdateClientConnState(balancer.ClientConnState{
						ResolverState: resolver.State{Attributes: lbtree.WithState(nil, &lbtree.State{Config: c})},
					}); err != nil {
						b.Fatal(err)
					}
					for range states {
						<-s.states
					}
				}
				update(numbered(n, 0), 1)
				call := balancer.PickInfo{Ctx: lbtree.WithCall(b.Context(), &lbtree.Call{Cluster: "c"})}
				_, _ = s.last.Load().Picker.Pick(call) // creates the cluster
				for range bm.states {
					<-s.states
				}
				var used time.Duration
				version := 0
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					version++
					l := numbered(n, version)
					start := process.CPU()
					b.StartTimer()
					update(l, bm.states)
					used += process.CPU() - start
				}
				b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "ms-CPU/op")
			})
		}
	}
}
