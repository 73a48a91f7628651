package policy

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// BenchmarkStateChange changes the state of one of many endpoints of a ring.
func BenchmarkStateChange(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newRingHash(&lbtree.Env{State: new(lbtree.State)}, func(balancer.State) {})
			l := lbtree.Locality{Weight: 1}
			for i := range n {
				e := lbtree.Endpoint{Weight: 1}
				e.Addresses = []resolver.Address{{Addr: fmt.Sprintf("10.0.%d.%d:80", i>>8, i&255)}}
				l.Endpoints = append(l.Endpoints, e)
			}
			p.Update(lbtree.Target{Policy: resource.LBConfig{Config: `{}`}, Localities: []lbtree.Locality{l}})
			b.ReportAllocs()
			for b.Loop() {
				p.reported(p.members[n-1], balancer.State{ConnectivityState: connectivity.Ready})
				p.reported(p.members[n-1], balancer.State{ConnectivityState: connectivity.Connecting})
			}
		})
	}
}
