package xdsforge_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// The last tracer provider of the options makes the spans. Nil makes none.
func TestWithTracerProvider(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := xdsforge.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
	for _, test := range []struct {
		name  string
		opts  []xdsforge.Option
		spans int
	}{
		{"none", nil, 0},
		{"given", []xdsforge.Option{provider}, 1},
		{"nil after one", []xdsforge.Option{provider, xdsforge.WithTracerProvider(nil)}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			exporter.Reset()
			c, err := newEnv(t, test.opts...).NewNamedClient("web")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := cluster.Get(ctx, c, "c"); err == nil {
				t.Error("the client has a resource without a control plane")
			}
			if _, err := c.Snapshot(t.Context()); err != nil { // the client has handled the end of the subscription
				t.Fatal(err)
			}
			_ = c.Close()
			spans := exporter.GetSpans()
			if len(spans) != test.spans {
				t.Fatalf("%d spans; want %d", len(spans), test.spans)
			}
			for _, s := range spans {
				if s.Name != "xds.subscribe" || s.InstrumentationScope.Name != "github.com/xdsforge/xdsforge" || s.Attributes[0].Value.AsString() != "web" {
					t.Errorf("span %q of %q with %v", s.Name, s.InstrumentationScope.Name, s.Attributes)
				}
			}
		})
	}
}
