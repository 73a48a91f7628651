package routing_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
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

// A filter that only runs before calls costs as much as before filters could see messages: the context for the picker, the
// call of the filters, and the copy of the metadata.
func TestPlainFilterAllocates(t *testing.T) {
	w := newWorld(t)
	f := new(tag).filter()
	f.NewClient = httpfilter.ClientFunc(func(any, any) (httpfilter.ClientInterceptor, error) {
		return httpfilter.ClientBefore(func(ctx context.Context, _ *httpfilter.ClientCall) (context.Context, error) { return ctx, nil }), nil
	})
	w.filters = append(w.filters, f)
	w.manage(plainAfter, `routes { match { prefix: "" } route { cluster: "a" } }`)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "k", "v")
	if n := testing.AllocsPerRun(100, func() { _ = w.channel.Unary(ctx, "/p.S/M", nil, nil, w.cc, invokeNothing) }); n > 5 {
		t.Errorf("%v allocations; want 5", n)
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
