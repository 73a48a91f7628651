package extproc

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/xdsforge/xdsforge/internal/telemetry"
)

// metrics record how long the filter holds events (A93). On a channel, the records have labels. Nil metrics record nothing.
type metrics struct {
	target    string
	labels    sync.Map // the option of each cluster; on channels only
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
	out := &metrics{target: target}
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
func (m *metrics) record(ctx context.Context, event int, cluster string, since time.Time) {
	switch d := time.Since(since).Seconds(); {
	case m == nil:
	case m.target == "":
		m.durations[event].Record(ctx, d)
	default:
		m.durations[event].Record(ctx, d, m.label(cluster))
	}
}

// label returns the labels of a cluster. There are as many as clusters in the routes of the configuration.
func (m *metrics) label(cluster string) metric.RecordOption {
	if o, ok := m.labels.Load(cluster); ok {
		return o.(metric.MeasurementOption)
	}
	set := []attribute.KeyValue{attribute.String("grpc.target", m.target)}
	if cluster != "" {
		set = append(set, attribute.String("grpc.lb.backend_service", cluster))
	}
	o, _ := m.labels.LoadOrStore(cluster, metric.WithAttributeSet(attribute.NewSet(set...)))
	return o.(metric.MeasurementOption)
}
