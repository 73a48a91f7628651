package extproc

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/xdsforge/xdsforge/internal/telemetry"
)

// metrics record how long the filter holds events (A93). On a channel, the records have its target. Nil metrics record nothing.
type metrics struct {
	labels    metric.MeasurementOption
	durations [4]metric.Float64Histogram
}

// The events.
const (
	clientHeaders = iota
	clientHalfClose
	serverHeaders
	serverTrailers
)

// newMetrics creates the histograms of a side: "client" or "server".
func newMetrics(m metric.Meter, side, target string) (*metrics, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // records nothing
	}
	out := &metrics{labels: metric.WithAttributeSet(attribute.NewSet())}
	if target != "" {
		out.labels = metric.WithAttributeSet(attribute.NewSet(attribute.String("grpc.target", target)))
	}
	var errs [4]error
	for i, h := range [4]struct{ name, about string }{
		clientHeaders:   {"client_headers", "Time in which the filter holds the client's headers (gRFC A93)."},
		clientHalfClose: {"client_half_close", "Time in which the filter holds the client's half-close (gRFC A93)."},
		serverHeaders:   {"server_headers", "Time in which the filter holds the server's headers (gRFC A93)."},
		serverTrailers:  {"server_trailers", "Time in which the filter holds the server's trailers (gRFC A93)."},
	} {
		out.durations[i], errs[i] = m.Float64Histogram("grpc."+side+"_ext_proc."+h.name+"_duration", metric.WithUnit("s"),
			metric.WithExplicitBucketBoundaries(telemetry.LatencyBounds()...), metric.WithDescription(h.about))
	}
	return out, errors.Join(errs[:]...)
}

// record records the time since the filter has received an event.
func (m *metrics) record(ctx context.Context, event int, since time.Time) {
	if m != nil {
		m.durations[event].Record(ctx, time.Since(since).Seconds(), m.labels)
	}
}
