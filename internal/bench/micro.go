package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

func nanoseconds(r testing.BenchmarkResult) float64 { return float64(r.T.Nanoseconds()) / float64(r.N) }

// lookupRow is a look into a shard beside one map read behind an atomic pointer.
func lookupRow(context.Context) ([]Row, error) {
	set, err := standardTypes()
	if err != nil {
		return nil, err
	}
	shard := runtime.NewShard[*cluster.Update]()
	byName := make(map[string]*cluster.Update)
	var names []xdstp.Name
	for i := range 10_000 {
		body, err := proto.Marshal(newCluster(i, 1))
		if err != nil {
			return nil, err
		}
		n, err := xdstp.Parse(clusterName(i))
		if err != nil {
			return nil, err
		}
		u, err := resource.Describe(cluster.Type()).Decode(&resource.DecodeContext{Name: n, Types: set}, body)
		if err != nil {
			return nil, err
		}
		shard.Store(u)
		byName[n.String()] = u.(*cluster.Update)
		names = append(names, n)
	}
	var behind atomic.Pointer[map[string]*cluster.Update]
	behind.Store(&byName)
	missing := errors.New("not there")
	row := func(what string, parallel bool) (Row, error) {
		var failed atomic.Bool
		run := func(look func(n xdstp.Name) bool) testing.BenchmarkResult {
			return testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				if !parallel {
					for i := range b.N {
						if !look(names[i%len(names)]) {
							failed.Store(true)
						}
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for i := 0; pb.Next(); i++ {
						if !look(names[i%len(names)]) {
							failed.Store(true)
						}
					}
				})
			})
		}
		mine := run(func(n xdstp.Name) bool { _, ok := shard.Get(n); return ok })
		peer := run(func(n xdstp.Name) bool { _, ok := (*behind.Load())[n.String()]; return ok })
		if failed.Load() {
			return Row{}, missing
		}
		if a := mine.AllocsPerOp(); a > 0 {
			return Row{}, fmt.Errorf("a lookup allocates %d times", a)
		}
		return Row{Name: what, Unit: "ns", Ours: nanoseconds(mine), Peer: nanoseconds(peer), Beside: "map", Bound: 3}, nil
	}
	one, err := row("lookup by a prepared name", false)
	if err != nil {
		return nil, err
	}
	many, err := row("the same on all processors", true)
	return []Row{one, many}, err
}
