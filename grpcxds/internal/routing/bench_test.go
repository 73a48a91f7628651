package routing_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
)

func invokeNothing(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	return nil
}

// Routing a call by its method allocates only the context for the picker.
func TestRoutingAllocatesOneContext(t *testing.T) {
	w := newWorld(t)
	w.route(`routes { match { path: "/p.S/Other" } route { cluster: "b" } } routes { match { prefix: "" } route { cluster: "a" } }`)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _ = w.channel.Unary(ctx, "/p.S/M", nil, nil, w.cc, invokeNothing) }); n > 1 {
		t.Errorf("%v allocations; want 1", n)
	}
}

// BenchmarkRouting measures the routing of a call without the call itself.
func BenchmarkRouting(b *testing.B) {
	w := newWorld(b)
	w.route(`routes { match { path: "/p.S/Other" } route { cluster: "b" } } routes { match { prefix: "" } route { cluster: "a" } }`)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_ = w.channel.Unary(ctx, "/p.S/M", nil, nil, w.cc, invokeNothing)
	}
}

// BenchmarkRoutingInParallel measures many calls at once. They take no lock.
func BenchmarkRoutingInParallel(b *testing.B) {
	w := newWorld(b)
	w.route(`routes { match { prefix: "" } route { cluster: "a" } }`)
	ctx := b.Context()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = w.channel.Unary(ctx, "/p.S/M", nil, nil, w.cc, invokeNothing)
		}
	})
}
