package extauthz

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics count calls by their results (A92). On a channel, the counts have labels. Nil metrics count nothing.
type metrics struct {
	target  string
	labels  sync.Map // the measurement option of each cluster; on channels only
	results [4]metric.Int64Counter
}

// The results.
const (
	allowedCalls = iota
	deniedCalls
	disabledCalls
	failedCalls
)

// newMetrics creates the counters of a side: "client" or "server".
func newMetrics(m metric.Meter, side, target string) (*metrics, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // counts nothing
	}
	out := &metrics{target: target}
	var errs [4]error
	for i, c := range [4]struct{ name, about string }{
		allowedCalls:  {"allowed_rpcs", "Calls that the authorization server allowed (gRFC A92)."},
		deniedCalls:   {"denied_rpcs", "Calls that the authorization server denied (gRFC A92)."},
		disabledCalls: {"filter_disabled_rpcs", "Calls that were not checked (gRFC A92)."},
		failedCalls:   {"failed_rpcs", "Calls whose check failed (gRFC A92)."},
	} {
		out.results[i], errs[i] = m.Int64Counter("grpc."+side+"_ext_authz."+c.name, metric.WithUnit("{RPCs}"), metric.WithDescription(c.about))
	}
	return out, errors.Join(errs[:]...)
}

func (m *metrics) allowed(ctx context.Context, cluster string)  { m.add(ctx, allowedCalls, cluster) }
func (m *metrics) denied(ctx context.Context, cluster string)   { m.add(ctx, deniedCalls, cluster) }
func (m *metrics) disabled(ctx context.Context, cluster string) { m.add(ctx, disabledCalls, cluster) }
func (m *metrics) failed(ctx context.Context, cluster string)   { m.add(ctx, failedCalls, cluster) }

func (m *metrics) add(ctx context.Context, result int, cluster string) {
	switch {
	case m == nil:
	case m.target == "":
		m.results[result].Add(ctx, 1)
	default:
		m.results[result].Add(ctx, 1, m.label(cluster))
	}
}

// label returns the labels of a cluster. There are as many as clusters in the routes of the configuration.
func (m *metrics) label(cluster string) metric.AddOption {
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
