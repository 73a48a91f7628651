package grpcxds_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/internal/scrape"
)

// failTwice makes a backend fail the next two calls.
func failTwice(t *testing.T, b func(grpc.StreamServerInterceptor) *backend) (*backend, *atomic.Int64) {
	t.Helper()
	failures := new(atomic.Int64)
	failures.Store(2)
	return b(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if failures.Add(-1) >= 0 {
			_ = s.RecvMsg(new(wrapperspb.StringValue))
			return status.Error(codes.Unavailable, "not now")
		}
		return handler(srv, s)
	}), failures
}

// retried returns a route whose calls are retried.
func retried(cluster string) string {
	return fmt.Sprintf(`routes { match { prefix: "" } route { cluster: %q retry_policy { retry_on: "unavailable" num_retries { value: 4 }
		retry_back_off { base_interval { nanos: 1000000 } } } } }`, cluster)
}

// retryDelay returns the sum of the recorded times between attempts, in seconds.
func retryDelay(t *testing.T, meter *scrape.Meter) (sum float64) {
	t.Helper()
	rm, err := meter.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if h, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == "grpc.client.call.retry_delay" {
				for _, p := range h.DataPoints {
					sum += p.Sum
				}
			}
		}
	}
	return sum
}

// Calls with retries record the number of their retries and the time between attempts, at their end (A96).
func TestRetryMetrics(t *testing.T) {
	p := newPlane(t)
	b, failures := failTwice(t, func(i grpc.StreamServerInterceptor) *backend { return newBackend(t, "b", grpc.StreamInterceptor(i)) })
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", retried("c")))
	p.cluster("c", "c", b)
	meter := scrape.NewMeter()
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()), xdsforge.WithMeterProvider(meter))
	cc := newChannel(t, env, "xds:///svc")
	expect := func(want ...string) {
		t.Helper()
		lines, err := meter.Lines(t.Context(), "grpc.client.call.")
		if err != nil || !slices.Equal(lines, want) {
			t.Errorf("metrics\n%s\n%v; want\n%s", strings.Join(lines, "\n"), err, strings.Join(want, "\n"))
		}
	}
	if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
		t.Fatal(err)
	}
	expect(
		"grpc.client.call.retries{grpc.method=other,grpc.target=xds:///svc} 1 of 2",
		"grpc.client.call.retry_delay{grpc.method=other,grpc.target=xds:///svc} 1",
	)
	// The back-offs are 1 ms and 2 ms, give or take 20 %.
	if delay := retryDelay(t, meter); delay < 0.0024 || delay > 20 {
		t.Errorf("the time between attempts is %v s; want at least 2.4 ms", delay)
	}
	if _, err := call(soon(t), cc, "/p.S/M"); err != nil { // without a retry
		t.Fatal(err)
	}
	failures.Store(1)
	s, err := cc.NewStream(soon(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/p.S/Static", grpc.StaticMethod())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMsg(wrapperspb.String("?")); err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
		t.Fatal(err)
	}
	_ = s.CloseSend()
	for s.RecvMsg(new(wrapperspb.StringValue)) == nil {
	}
	expect(
		"grpc.client.call.retries{grpc.method=other,grpc.target=xds:///svc} 1 of 2",
		"grpc.client.call.retries{grpc.method=p.S/Static,grpc.target=xds:///svc} 1 of 1",
		"grpc.client.call.retry_delay{grpc.method=other,grpc.target=xds:///svc} 1",
		"grpc.client.call.retry_delay{grpc.method=p.S/Static,grpc.target=xds:///svc} 1",
	)
}
