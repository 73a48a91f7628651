package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	estats "google.golang.org/grpc/experimental/stats"
)

// Recorder returns the recorder of the LB policies of a target that has no gRPC channel. They find their instruments in the
// registry of gRPC, such as grpc.lb.wrr.endpoint_weights (A78). It records counts and histograms with all labels.
func (t *Target) Recorder() estats.MetricsRecorder {
	if t == nil {
		return estats.UnimplementedMetricsRecorder{}
	}
	return &recorder{meter: t.calls.meter, made: &t.calls.policies}
}

// instruments has the instruments of LB policies that were recorded once.
type instruments struct {
	counts, histograms sync.Map // by *estats.MetricDescriptor
}

// A recorder records the metrics of gRPC's registry. It is safe for concurrent use.
type recorder struct {
	estats.UnimplementedMetricsRecorder
	meter metric.Meter
	made  *instruments
}

// RecordInt64Count implements [estats.MetricsRecorder].
func (r *recorder) RecordInt64Count(h *estats.Int64CountHandle, n int64, values ...string) {
	d := h.Descriptor()
	made, ok := r.made.counts.Load(d)
	if !ok {
		c, err := r.meter.Int64Counter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Description))
		if err != nil {
			return // the provider rejects the name, and records nothing
		}
		made, _ = r.made.counts.LoadOrStore(d, c)
	}
	made.(metric.Int64Counter).Add(context.Background(), n, described(d, values)) //nolint:forcetypeassert // counts has no others
}

// RecordFloat64Histo implements [estats.MetricsRecorder].
func (r *recorder) RecordFloat64Histo(h *estats.Float64HistoHandle, v float64, values ...string) {
	d := h.Descriptor()
	made, ok := r.made.histograms.Load(d)
	if !ok {
		c, err := r.meter.Float64Histogram(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Description), metric.WithExplicitBucketBoundaries(d.Bounds...))
		if err != nil {
			return // as above
		}
		made, _ = r.made.histograms.LoadOrStore(d, c)
	}
	made.(metric.Float64Histogram).Record(context.Background(), v, described(d, values)) //nolint:forcetypeassert // as above
}

// described returns the labels of a metric. Their values are in the order of the descriptor: the labels, then the optional ones.
func described(d *estats.MetricDescriptor, values []string) metric.MeasurementOption {
	list := make([]attribute.KeyValue, 0, len(values))
	for i, v := range values {
		if n := i - len(d.Labels); n < 0 {
			list = append(list, attribute.String(d.Labels[i], v))
		} else if n < len(d.OptionalLabels) && v != "" {
			list = append(list, attribute.String(d.OptionalLabels[n], v))
		}
	}
	return metric.WithAttributeSet(attribute.NewSet(list...))
}
