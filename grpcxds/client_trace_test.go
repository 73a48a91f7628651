package grpcxds_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/stats/opentelemetry"

	"github.com/xdsforge/xdsforge/internal/scrape"
)

// observed is an OpenTelemetry plugin with its metrics and spans.
type observed struct {
	meter *scrape.Meter
	spans *tracetest.InMemoryExporter
}

func observe() (*observed, grpc.DialOption) {
	o := &observed{scrape.NewMeter(), tracetest.NewInMemoryExporter()}
	return o, opentelemetry.DialOption(opentelemetry.Options{
		MetricsOptions: opentelemetry.MetricsOptions{MeterProvider: o.meter},
		TraceOptions: experimental.TraceOptions{
			TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(o.spans)), TextMapPropagator: propagation.TraceContext{},
		},
	})
}

// tree returns the spans, each with its parent and the number of previous attempts, and the numbers of
// recorded calls and attempts.
func (o *observed) tree(t *testing.T) string {
	t.Helper()
	spans := o.spans.GetSpans()
	names := make(map[string]string)
	for _, s := range spans {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	var lines []string
	for _, s := range spans {
		line := s.Name + " under " + names[s.Parent.SpanID().String()]
		for _, kv := range s.Attributes {
			if kv.Key == "previous-rpc-attempts" {
				line += " after " + kv.Value.String()
			}
		}
		lines = append(lines, line)
	}
	for _, name := range []string{"grpc.client.call.duration", "grpc.client.attempt.duration", "grpc.client.attempt.started"} {
		metrics, err := o.meter.Lines(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range metrics {
			before, after, _ := strings.Cut(m, ",grpc.target") // the targets differ
			lines = append(lines, before+after[strings.LastIndex(after, " "):])
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A call with three attempts is one call in metrics and spans of grpc-go's plugin, as it is with grpc-go's own
// retries (A72).
func TestOneCallWithRetriesIsOneCallInTelemetry(t *testing.T) {
	p := newPlane(t)
	b, failures := failTwice(t, func(i grpc.StreamServerInterceptor) *backend { return newBackend(t, "b", grpc.StreamInterceptor(i)) })
	p.cluster("c", "c", b)
	native, option := observe()
	cc, err := grpc.NewClient(fmt.Sprintf("passthrough:///127.0.0.1:%d", b.port), option, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.001s", "maxBackoff": "0.01s",
			"backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
		t.Fatal(err)
	}
	want := native.tree(t)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()))
	for who, routes := range map[string]string{
		"gRPC": retried("c"), "interceptors": `routes { match { path: "/other/M" } route { cluster: "c" } }` + retried("c"),
	} {
		p.listener(who, fmt.Sprintf(`route_config { %s }`, hosts("*", routes)))
		failures.Store(2)
		ours, option := observe()
		cc := newChannel(t, env, "xds:///"+who, option)
		if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
			t.Fatal(err)
		}
		got := ours.tree(t)
		if got != want || strings.Count(got, "Attempt.p.S.M under Sent.p.S.M")+strings.Count(got, "Attempt.p.S/M under Sent.p.S/M") != 3 {
			t.Errorf("telemetry, when the retries are those of %s\n%s\nwithout xDS\n%s", who, got, want)
		}
		_ = cc.Close()
	}
}
