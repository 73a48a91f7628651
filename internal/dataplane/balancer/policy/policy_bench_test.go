package policy

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// many returns a target of n endpoints.
func many(n int) lbtree.Target {
	l := lbtree.Locality{Weight: 1}
	for i := range n {
		e := &lbtree.Endpoint{Weight: 1}
		e.Addresses = []resolver.Address{{Addr: fmt.Sprintf("10.0.%d.%d:80", i>>8, i&255)}}
		l.Endpoints = append(l.Endpoints, e)
	}
	return lbtree.Target{Policy: resource.LBConfig{Config: `{}`}, Localities: []lbtree.Locality{l}}
}

// BenchmarkStateChange changes the state of one of many endpoints.
func BenchmarkStateChange(b *testing.B) {
	ready := balancer.State{ConnectivityState: connectivity.Ready, Picker: lbtree.Queue{}}
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint("ring_hash/", n), func(b *testing.B) {
			p := newRingHash(&lbtree.Env{State: new(lbtree.State)}, func(balancer.State) {})
			p.Update(many(n))
			b.ReportAllocs()
			for b.Loop() {
				p.reported(p.members[n-1], ready)
				p.reported(p.members[n-1], lbtree.Connecting())
			}
		})
		b.Run(fmt.Sprint("round_robin/", n), func(b *testing.B) {
			loop := serial.New(func() {})
			p := newRoundRobin(&lbtree.Env{Loop: loop, Conn: new(channel), State: new(lbtree.State)}, func(balancer.State) {})
			p.Update(many(n))
			loop.Close(func() {})
			for _, e := range p.endpoints {
				p.reported(e, ready)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.reported(p.endpoints[n/2], lbtree.Connecting())
				p.reported(p.endpoints[n/2], ready)
			}
		})
	}
}
