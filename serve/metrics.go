package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/xdsforge/xdsforge/internal/telemetry"
)

// instruments are the metrics of a server.
type instruments struct {
	streams, behind                           metric.Int64ObservableGauge
	requests, responses, rejections, rejected metric.Int64ObservableCounter
	lag, stale                                metric.Float64ObservableGauge
}

// export exports the metrics until Close.
func (s *Server) export() error {
	if s.settings.meters == nil {
		return nil
	}
	m := s.settings.meters.Meter(telemetry.Name)
	var i instruments
	var errs [8]error
	i.streams, errs[0] = m.Int64ObservableGauge("xdsforge.xds_server.streams", metric.WithUnit("{stream}"),
		metric.WithDescription("Open streams, with those of load reports."))
	i.requests, errs[1] = m.Int64ObservableCounter("xdsforge.xds_server.requests", metric.WithUnit("{request}"),
		metric.WithDescription("Requests of clients."))
	i.responses, errs[2] = m.Int64ObservableCounter("xdsforge.xds_server.responses", metric.WithUnit("{response}"),
		metric.WithDescription("Responses to clients."))
	i.rejections, errs[3] = m.Int64ObservableCounter("xdsforge.xds_server.rejections", metric.WithUnit("{response}"),
		metric.WithDescription("Responses that clients rejected (NACK)."))
	i.behind, errs[4] = m.Int64ObservableGauge("xdsforge.xds_server.streams_behind", metric.WithUnit("{stream}"),
		metric.WithDescription("Streams whose clients have not accepted the newest resources of the type."))
	i.lag, errs[5] = m.Float64ObservableGauge("xdsforge.xds_server.lag", metric.WithUnit("s"),
		metric.WithDescription("The longest time for which a client has lacked the newest resources of the type."))
	i.stale, errs[6] = m.Float64ObservableGauge("xdsforge.xds_server.source_age", metric.WithUnit("s"),
		metric.WithDescription("The time for which the source of the authority has been stale or down; 0 while it is live."))
	i.rejected, errs[7] = m.Int64ObservableCounter("xdsforge.xds_server.streams_ended", metric.WithUnit("{stream}"),
		metric.WithDescription("Streams that the server refused or ended, by reason."))
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("creating the metrics: %w", err)
	}
	reg, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error { s.observe(o, &i); return nil },
		i.streams, i.requests, i.responses, i.rejections, i.behind, i.lag, i.stale, i.rejected)
	if err != nil {
		return fmt.Errorf("exporting the metrics: %w", err)
	}
	s.metrics = reg.Unregister
	return nil
}

// observe reports the values of all cores. Views are one series.
func (s *Server) observe(o metric.Observer, i *instruments) {
	streams, _ := s.open()
	o.ObserveInt64(i.streams, int64(streams))
	s.mu.Lock()
	refused := maps.Clone(s.refused)
	s.mu.Unlock()
	for reason, n := range refused {
		o.ObserveInt64(i.rejected, int64(n), metric.WithAttributes(attribute.String("xdsforge.xds_server.reason", reason))) //nolint:gosec // a count
	}
	now := time.Now()
	for _, t := range s.totals(now) {
		label := metric.WithAttributes(attribute.String("grpc.xds.resource_type", t.Type))
		o.ObserveInt64(i.requests, int64(t.Requests), label)     //nolint:gosec // a count
		o.ObserveInt64(i.responses, int64(t.Responses), label)   //nolint:gosec // a count
		o.ObserveInt64(i.rejections, int64(t.Rejections), label) //nolint:gosec // a count
		o.ObserveInt64(i.behind, int64(t.Behind), label)
		o.ObserveFloat64(i.lag, t.Lag.Seconds(), label)
	}
	age := make(map[string]time.Duration)
	for _, f := range s.sources(now) {
		name := cmp.Or(f.Authority, "#old") // as in the metrics of clients
		age[name] = max(age[name], f.Age)
	}
	for name, d := range age {
		o.ObserveFloat64(i.stale, d.Seconds(), metric.WithAttributes(attribute.String("grpc.xds.authority", name)))
	}
}
