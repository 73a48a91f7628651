// Package scrape reads OpenTelemetry metrics and spans in tests.
package scrape

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A Meter is a meter provider with a reader.
type Meter struct {
	*sdkmetric.MeterProvider
	reader *sdkmetric.ManualReader
}

// NewMeter returns a meter provider.
func NewMeter() *Meter {
	r := sdkmetric.NewManualReader()
	return &Meter{sdkmetric.NewMeterProvider(sdkmetric.WithReader(r)), r}
}

// NewTracer returns a tracer provider that records all spans and drops them when they end.
func NewTracer() trace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(dropper{}))
}

// dropper is a span processor that does nothing.
type dropper struct{}

// OnStart implements [sdktrace.SpanProcessor].
func (dropper) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements [sdktrace.SpanProcessor].
func (dropper) OnEnd(sdktrace.ReadOnlySpan) {}

// Shutdown implements [sdktrace.SpanProcessor].
func (dropper) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdktrace.SpanProcessor].
func (dropper) ForceFlush(context.Context) error { return nil }

// Collect reads all metrics.
func (m *Meter) Collect(ctx context.Context) (metricdata.ResourceMetrics, error) {
	var rm metricdata.ResourceMetrics
	err := m.reader.Collect(ctx, &rm)
	return rm, err
}

// Lines returns the metrics whose names begin with the prefix, in the order of the text. A metric is
// "name{label=value,…} value". The value of a histogram
// is its count; of one of integers, it is followed by their sum.
func (m *Meter) Lines(ctx context.Context, prefix string) ([]string, error) {
	rm, err := m.Collect(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, scope := range rm.ScopeMetrics {
		for _, metric := range scope.Metrics {
			if strings.HasPrefix(metric.Name, prefix) {
				lines = append(lines, points(metric)...)
			}
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// points returns the lines of a metric.
func points(m metricdata.Metrics) (lines []string) {
	add := func(set attribute.Set, value any) {
		labels := make([]string, 0, set.Len())
		for _, kv := range set.ToSlice() {
			labels = append(labels, string(kv.Key)+"="+kv.Value.String())
		}
		lines = append(lines, fmt.Sprintf("%s{%s} %v", m.Name, strings.Join(labels, ","), value))
	}
	switch d := m.Data.(type) {
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, p.Value)
		}
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, p.Value)
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, p.Value)
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprintf("%d of %d", p.Count, p.Sum))
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, p.Count)
		}
	}
	return lines
}
