package environment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/xdsforge/xdsforge/internal/telemetry"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// spanLines returns the spans of one name: their parents, durations, attributes and status.
func spanLines(spans tracetest.SpanStubs, name string) []string {
	names := make(map[string]string)
	for _, s := range spans {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	var lines []string
	for _, s := range spans {
		if s.Name != name {
			continue
		}
		line := s.EndTime.Sub(s.StartTime).String()
		if parent := names[s.Parent.SpanID().String()]; parent != "" {
			line += " under " + parent
		}
		for _, kv := range s.Attributes {
			line += fmt.Sprintf(" %s=%s", kv.Key[strings.LastIndexAny(string(kv.Key), ".")+1:], kv.Value.String())
		}
		if s.Status.Description != "" {
			line += fmt.Sprintf(" %s: %.40s", s.Status.Code, s.Status.Description)
		}
		lines = append(lines, strings.ReplaceAll(line, cluster.Type().Name(), "CDS"))
	}
	slices.Sort(lines)
	return lines
}

// A subscription has a span until its first event, and each response has one.
func TestClientSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exporter := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
		w := newMetricWorld(t, func(s *Settings) { s.Tracer = provider.Tracer(telemetry.Name) })
		s := acquire(t, w.env, "xds:///web")
		go func() {
			<-time.NewTimer(2 * time.Second).C
			w.set(w.primary, "a", "bad", "unwatched")
		}()
		ctx, request := provider.Tracer("app").Start(t.Context(), "request")
		if _, err := cluster.Get(ctx, s, "a"); err != nil {
			t.Fatal(err)
		}
		request.End()
		if _, err := cluster.Get(t.Context(), s, "bad"); err == nil {
			t.Error("the invalid resource has an update")
		}
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := cluster.Get(brief, s, "absent"); err == nil {
			t.Error("the absent resource has an update")
		}
		w.watch(s, "late")
		synctest.Wait()
		_ = s.Release()
		_ = w.env.Close()
		expect := func(name string, want ...string) {
			t.Helper()
			if got := spanLines(exporter.GetSpans(), name); !slices.Equal(got, want) {
				t.Errorf("spans %s\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		expect("xds.subscribe",
			"0s target=xds:///web resource_type=CDS resource_name=bad Error: Cluster \"bad\": invalid: eds_cluster_conf",
			"0s target=xds:///web resource_type=CDS resource_name=late Error: canceled",
			"1s target=xds:///web resource_type=CDS resource_name=absent Error: canceled",
			"2s under request target=xds:///web resource_type=CDS resource_name=a origin=primary",
		)
		const response = "0s target=xds:///web server=memory:1 resource_type=CDS "
		expect("xds.response",
			response+"version=0 resources=0 valid=0 invalid=0 unchanged=0 removed=0",
			response+"version=1 resources=0 valid=0 invalid=0 unchanged=0 removed=0",
			response+"version=1 resources=0 valid=0 invalid=0 unchanged=0 removed=0",
			response+"version=1 resources=1 valid=0 invalid=1 unchanged=0 removed=0 Error: 1 of 1 resources rejected: Cluster \"bad\"",
			response+"version=1 resources=1 valid=1 invalid=0 unchanged=0 removed=0",
		)
	})
}

// An Env without a tracer makes no spans, also for a request that has one.
func TestNoSpansWithoutTracer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exporter := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
		w := newMetricWorld(t)
		s := acquire(t, w.env, "xds:///web")
		w.set(w.primary, "a")
		ctx, request := provider.Tracer("app").Start(t.Context(), "request")
		if _, err := cluster.Get(ctx, s, "a"); err != nil {
			t.Fatal(err)
		}
		request.End()
		_ = s.Release()
		_ = w.env.Close()
		if spans := exporter.GetSpans(); len(spans) != 1 {
			t.Errorf("%d spans; want only that of the request", len(spans))
		}
	})
}
