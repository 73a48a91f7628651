package telemetry

import (
	"errors"
	"fmt"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"go.opentelemetry.io/otel/metric"
)

// The labels of load.
const (
	labelCluster  = "grpc.lb.backend_service"
	labelLocality = "grpc.lb.locality"
	labelService  = "xdsforge.load.service"
	labelResult   = "xdsforge.load.result"
	labelCategory = "xdsforge.load.drop_category"
)

// loads has the instruments of the load that clients report to control planes.
type loads struct {
	started, finished, dropped metric.Int64ObservableCounter
	active                     metric.Int64ObservableGauge
}

func newLoads(m metric.Meter) (loads, error) {
	var l loads
	var errs [4]error
	l.started, errs[0] = m.Int64ObservableCounter("xdsforge.load.calls_started", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that the client counts for load reports."))
	l.finished, errs[1] = m.Int64ObservableCounter("xdsforge.load.calls_finished", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that have ended, by their result: success or error."))
	l.active, errs[2] = m.Int64ObservableGauge("xdsforge.load.calls_in_progress", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that have started and not ended."))
	l.dropped, errs[3] = m.Int64ObservableCounter("xdsforge.load.calls_dropped", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that were dropped by a drop policy, or by a circuit breaker (no category)."))
	if err := errors.Join(errs[:]...); err != nil {
		return l, fmt.Errorf("creating the metrics of load: %w", err)
	}
	return l, nil
}

// A loadKey has the labels of load. A series has a locality or a category.
type loadKey struct {
	target, server, cluster, service string
	region, zone, subZone, category  string
}

// callCounts are the calls to a locality.
type callCounts struct{ started, succeeded, failed, active uint64 }

// AddLoad adds the load that a client counts for a server.
func (v *Values) AddLoad(target, server string, clusters []*endpointv3.ClusterStats) {
	if v.load == nil {
		v.load, v.drops = make(map[loadKey]callCounts), make(map[loadKey]uint64)
	}
	for _, c := range clusters {
		key := loadKey{target: target, server: server, cluster: c.GetClusterName(), service: c.GetClusterServiceName()}
		rest := c.GetTotalDroppedRequests()
		for _, d := range c.GetDroppedRequests() {
			rest -= d.GetDroppedCount()
			key.category = d.GetCategory()
			v.drops[key] += d.GetDroppedCount()
		}
		key.category = ""
		if rest > 0 {
			v.drops[key] += rest
		}
		for _, l := range c.GetUpstreamLocalityStats() {
			key.region, key.zone, key.subZone = l.GetLocality().GetRegion(), l.GetLocality().GetZone(), l.GetLocality().GetSubZone()
			sum := v.load[key]
			sum.started += l.GetTotalIssuedRequests()
			sum.succeeded += l.GetTotalSuccessfulRequests()
			sum.failed += l.GetTotalErrorRequests()
			sum.active += l.GetTotalRequestsInProgress()
			v.load[key] = sum
		}
	}
}

// labels returns the labels of a series, with further pairs of label and value.
func (k *loadKey) labels(further ...string) metric.MeasurementOption {
	return labels(append([]string{labelTarget, k.target, labelServer, k.server, labelCluster, k.cluster, labelService, k.service}, further...)...)
}

// observe passes the load to OpenTelemetry.
func (l *loads) observe(o metric.Observer, v *Values) {
	for key, n := range v.load {
		// The form of the locality is that of gRFC A78.
		locality := fmt.Sprintf("{region=%q, zone=%q, sub_zone=%q}", key.region, key.zone, key.subZone)
		set := key.labels(labelLocality, locality)
		o.ObserveInt64(l.started, signed(n.started), set)
		o.ObserveInt64(l.active, signed(n.active), set)
		o.ObserveInt64(l.finished, signed(n.succeeded), key.labels(labelLocality, locality, labelResult, "success"))
		o.ObserveInt64(l.finished, signed(n.failed), key.labels(labelLocality, locality, labelResult, "error"))
	}
	for key, n := range v.drops {
		o.ObserveInt64(l.dropped, signed(n), key.labels(labelCategory, key.category))
	}
}
