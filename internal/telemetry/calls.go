package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// LatencyBounds are the bucket boundaries of latencies in gRFC A66, in seconds.
func LatencyBounds() []float64 {
	return []float64{
		0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.013, 0.016, 0.02, 0.025,
		0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5, 10, 20, 50, 100,
	}
}

// Calls has the instruments of channels: retries (gRFC A96) and outlier detection (gRFC A91). Its methods
// are safe for concurrent use.
type Calls struct {
	meter                metric.Meter
	retries              metric.Int64Histogram
	delay                metric.Float64Histogram
	enforced, unenforced metric.Int64Counter
	policies             instruments
}

// NewCalls creates the instruments.
func NewCalls(provider metric.MeterProvider) (*Calls, error) {
	m := provider.Meter(Name)
	var errs [4]error
	c := &Calls{meter: m}
	c.retries, errs[0] = m.Int64Histogram("grpc.client.call.retries", metric.WithUnit("{retry}"), metric.WithExplicitBucketBoundaries(1, 2, 3, 4, 5),
		metric.WithDescription("Retries of a call; calls without retries are not recorded (gRFC A96)."))
	c.delay, errs[1] = m.Float64Histogram("grpc.client.call.retry_delay", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(LatencyBounds()...),
		metric.WithDescription("Time during a call with retries in which no attempt was active (gRFC A96)."))
	c.enforced, errs[2] = m.Int64Counter("grpc.lb.outlier_detection.ejections_enforced", metric.WithUnit("{ejection}"),
		metric.WithDescription("Ejected outliers by detection method (gRFC A91)."))
	c.unenforced, errs[3] = m.Int64Counter("grpc.lb.outlier_detection.ejections_unenforced", metric.WithUnit("{ejection}"),
		metric.WithDescription("Detected outliers that were not ejected (gRFC A91)."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("creating the metrics of channels: %w", err)
	}
	return c, nil
}

// Meter returns the meter of the instruments. For nil Calls, it is one that records nothing.
func (c *Calls) Meter() metric.Meter {
	if c == nil {
		return noop.Meter{}
	}
	return c.meter
}

// Of returns the metrics of a target. It returns nil, which records nothing, for nil Calls.
func (c *Calls) Of(target string) *Target {
	if c == nil {
		return nil
	}
	return &Target{c, target}
}

// A Target records the metrics of the channels of one target. A nil Target records nothing.
type Target struct {
	calls  *Calls
	target string
}

// Retried records the end of a call with retries, and the time between its attempts.
func (t *Target) Retried(method string, retries int, delay time.Duration) {
	if t == nil {
		return
	}
	set := labels("grpc.method", method, labelTarget, t.target)
	t.calls.retries.Record(context.Background(), int64(retries), set)
	t.calls.delay.Record(context.Background(), delay.Seconds(), set)
}

// Outlier records a detected outlier. reason is the reason why it was not ejected, or "".
func (t *Target) Outlier(cluster, method, reason string) {
	const (
		detection  = "grpc.lb.outlier_detection.detection_method"
		unenforced = "grpc.lb.outlier_detection.unenforced_reason"
		service    = "grpc.lb.backend_service"
	)
	switch {
	case t == nil:
	case reason == "":
		t.calls.enforced.Add(context.Background(), 1, labels(labelTarget, t.target, service, cluster, detection, method))
	default:
		t.calls.unenforced.Add(context.Background(), 1, labels(labelTarget, t.target, service, cluster, detection, method, unenforced, reason))
	}
}
