package telemetry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/status"
)

// The labels of gRFC A78.
const (
	labelTarget     = "grpc.target"
	labelServer     = "grpc.xds.server"
	labelType       = "grpc.xds.resource_type"
	labelAuthority  = "grpc.xds.authority"
	labelCacheState = "grpc.xds.cache_state"
)

// oldStyleAuthority is the label of old-style names.
const oldStyleAuthority = "#old"

// A Reader has the instruments of xDS clients.
type Reader struct {
	meter                          metric.Meter
	connected, resources, fallback metric.Int64ObservableGauge
	stored, unwritten              metric.Int64ObservableGauge
	storeAge                       metric.Float64ObservableGauge
	failures, valid, invalid       metric.Int64ObservableCounter
	loads                          loads
}

// NewReader creates the instruments. It exports nothing before Register.
func NewReader(provider metric.MeterProvider) (*Reader, error) {
	m := provider.Meter(Name)
	var errs [10]error
	r := &Reader{meter: m}
	r.connected, errs[0] = m.Int64ObservableGauge("grpc.xds_client.connected", metric.WithUnit("{bool}"),
		metric.WithDescription("Whether the ADS stream to the server works: 1 or 0 (gRFC A78)."))
	r.failures, errs[1] = m.Int64ObservableCounter("grpc.xds_client.server_failure", metric.WithUnit("{failure}"),
		metric.WithDescription("How often the server became unhealthy: no connection, or a stream without a response (gRFC A57, gRFC A78)."))
	r.valid, errs[2] = m.Int64ObservableCounter("grpc.xds_client.resource_updates_valid", metric.WithUnit("{resource}"),
		metric.WithDescription("Received resources that are valid, including unchanged ones (gRFC A78)."))
	r.invalid, errs[3] = m.Int64ObservableCounter("grpc.xds_client.resource_updates_invalid", metric.WithUnit("{resource}"),
		metric.WithDescription("Received resources that are invalid (gRFC A78)."))
	r.resources, errs[4] = m.Int64ObservableGauge("grpc.xds_client.resources", metric.WithUnit("{resource}"),
		metric.WithDescription("Watched resources by authority, cache state and type (gRFC A78, gRFC A88)."))
	r.fallback, errs[5] = m.Int64ObservableGauge("xdsforge.xds_client.fallback", metric.WithUnit("{bool}"),
		metric.WithDescription("Whether the authority uses a server other than its first: 1 or 0 (gRFC A71)."))
	r.stored, errs[6] = m.Int64ObservableGauge("xdsforge.xds_client.last_known_good", metric.WithUnit("{bool}"),
		metric.WithDescription("Whether the authority uses the last known good store: 1 or 0."))
	r.storeAge, errs[7] = m.Float64ObservableGauge("xdsforge.last_known_good.age", metric.WithUnit("s"),
		metric.WithDescription("The time since the newest generation of the last known good store was written."))
	r.unwritten, errs[8] = m.Int64ObservableGauge("xdsforge.last_known_good.failing", metric.WithUnit("{bool}"),
		metric.WithDescription("Whether the last attempt to write the last known good store failed: 1 or 0."))
	r.loads, errs[9] = newLoads(m)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("creating the metrics of xDS clients: %w", err)
	}
	return r, nil
}

// Register exports the values that collect returns, until stop is called.
func (r *Reader) Register(collect metric.Callback) (stop func() error, err error) {
	reg, err := r.meter.RegisterCallback(collect, r.connected, r.failures, r.valid, r.invalid, r.resources, r.fallback, r.stored, r.storeAge, r.unwritten,
		r.loads.started, r.loads.finished, r.loads.active, r.loads.dropped)
	if err != nil {
		return nil, fmt.Errorf("exporting the metrics of xDS clients: %w", err)
	}
	return reg.Unregister, nil
}

// A counterKey has the labels of a counter.
type counterKey struct{ target, server, typ string }

// A gaugeKey has the labels of a gauge.
type gaugeKey struct{ target, server, authority, state, typ string }

// Values are the metrics of some clients. Clients with equal labels are one series: its counts are
// their sums, and its connected is 0 if one of them is not connected. The zero Values is empty.
type Values struct {
	failures, valid, invalid       map[counterKey]uint64
	connected, fallback, resources map[gaugeKey]int64
	stored, unwritten              map[gaugeKey]int64
	storeAge                       map[gaugeKey]time.Duration
	load                           map[loadKey]callCounts
	drops                          map[loadKey]uint64
}

// AddStore adds the gauges of a last known good store.
func (v *Values) AddStore(s *lkg.Status, now time.Time) {
	v.storeAge, v.unwritten = make(map[gaugeKey]time.Duration), make(map[gaugeKey]int64)
	for _, a := range s.Authorities {
		key := gaugeKey{authority: strings.TrimPrefix(a.Name, "xdstp://")}
		if !a.Written.IsZero() {
			v.storeAge[key] = now.Sub(a.Written)
		}
		v.unwritten[key] = number(a.Err != nil)
	}
}

// Clone returns a copy of the counters.
func (v *Values) Clone() Values {
	return Values{failures: maps.Clone(v.failures), valid: maps.Clone(v.valid), invalid: maps.Clone(v.invalid)}
}

// AddCounters adds the counters of a client.
func (v *Values) AddCounters(s *status.Snapshot) {
	if v.failures == nil {
		v.failures, v.valid, v.invalid = make(map[counterKey]uint64), make(map[counterKey]uint64), make(map[counterKey]uint64)
	}
	for _, server := range s.Servers {
		key := counterKey{target: s.Scope, server: server.Entry.URI()}
		if server.State != status.Idle || server.Failures > 0 {
			v.failures[key] += server.Failures
		}
	}
	for _, t := range s.Traffic {
		key := counterKey{target: s.Scope, server: t.Server.URI(), typ: t.Type}
		v.valid[key] += t.Valid
		v.invalid[key] += t.Invalid
	}
}

// Add adds the counters and gauges of a client.
func (v *Values) Add(s *status.Snapshot) {
	v.AddCounters(s)
	if v.connected == nil {
		v.connected, v.fallback, v.resources = make(map[gaugeKey]int64), make(map[gaugeKey]int64), make(map[gaugeKey]int64)
	}
	for _, server := range s.Servers {
		if server.State == status.Idle {
			continue
		}
		key := gaugeKey{target: s.Scope, server: server.Entry.URI()}
		now := number(server.Connected)
		if before, ok := v.connected[key]; ok {
			now = min(now, before)
		}
		v.connected[key] = now
	}
	for _, a := range s.Authorities {
		if a.Active != nil {
			key := gaugeKey{target: s.Scope, authority: authorityLabel(a.Name, a.OldStyle)}
			if v.stored == nil {
				v.stored = make(map[gaugeKey]int64)
			}
			v.stored[key] = max(v.stored[key], number(a.Stored))
			v.fallback[key] = max(v.fallback[key], number(!a.Active.Equal(a.Servers[0])))
		}
	}
	for _, c := range s.Counts {
		v.resources[gaugeKey{target: s.Scope, authority: authorityLabel(c.Authority, c.OldStyle), state: c.CacheState(), typ: c.Type}] += int64(c.Resources)
	}
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func authorityLabel(name string, oldStyle bool) string {
	if oldStyle {
		return oldStyleAuthority
	}
	return name
}

// Observe passes the values to OpenTelemetry. Labels are as A78 has them, so a counter of failures has
// no type.
func (r *Reader) Observe(o metric.Observer, v *Values) {
	for key, n := range v.failures {
		o.ObserveInt64(r.failures, signed(n), labels(labelTarget, key.target, labelServer, key.server))
	}
	for key, n := range v.valid {
		o.ObserveInt64(r.valid, signed(n), labels(labelTarget, key.target, labelServer, key.server, labelType, key.typ))
	}
	for key, n := range v.invalid {
		o.ObserveInt64(r.invalid, signed(n), labels(labelTarget, key.target, labelServer, key.server, labelType, key.typ))
	}
	for key, n := range v.connected {
		o.ObserveInt64(r.connected, n, labels(labelTarget, key.target, labelServer, key.server))
	}
	for key, n := range v.fallback {
		o.ObserveInt64(r.fallback, n, labels(labelTarget, key.target, labelAuthority, key.authority))
	}
	if v.unwritten != nil { // there is a store
		for key, n := range v.stored {
			o.ObserveInt64(r.stored, n, labels(labelTarget, key.target, labelAuthority, key.authority))
		}
	}
	for key, age := range v.storeAge {
		o.ObserveFloat64(r.storeAge, age.Seconds(), labels(labelAuthority, key.authority))
	}
	for key, n := range v.unwritten {
		o.ObserveInt64(r.unwritten, n, labels(labelAuthority, key.authority))
	}
	r.loads.observe(o, v)
	for key, n := range v.resources {
		o.ObserveInt64(r.resources, n, labels(labelTarget, key.target, labelAuthority, key.authority, labelCacheState, key.state, labelType, key.typ))
	}
}

func signed(n uint64) int64 { return int64(n) } //nolint:gosec // a count of received resources

// labels returns the attributes of pairs of label and value.
func labels(pairs ...string) metric.MeasurementOption {
	list := make([]attribute.KeyValue, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, attribute.String(pair[0], pair[1]))
	}
	return metric.WithAttributeSet(attribute.NewSet(list...))
}
