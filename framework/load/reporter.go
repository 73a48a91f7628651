package load

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// A Reporter adds the load reports of another client to a store, which reports the sums. A relay has one for each
// stream of load reports. A cluster without a report for an hour no longer counts against its limits. It is safe for
// concurrent use.
type Reporter struct {
	store    *Store
	client   *Client
	clusters map[*clusterEntry]*reported // nil after Close
	closed   bool
	swept    time.Time

	localities int // of all clusters
}

// Reporter returns a reporter of another client. Close it when the client is gone.
func (s *Store) Reporter() *Reporter { return s.ReporterOf(new(Client)) }

// ReporterOf returns a reporter of another client, whose reporters share their limits.
func (s *Store) ReporterOf(c *Client) *Reporter {
	return &Reporter{store: s, client: c, clusters: make(map[*clusterEntry]*reported), swept: time.Now()}
}

// Add adds a report: its calls, drops and endpoint metrics since the last one. Calls in progress replace those of the
// last report. Load of single endpoints is not added.
func (r *Reporter) Add(stats []*endpointv3.ClusterStats) {
	s := r.store
	s.mu.Lock()
	wasEmpty := len(s.clusters) == 0
	if !r.closed {
		now := time.Now()
		r.sweep(now)
		for _, c := range stats {
			r.add(c, now)
		}
	}
	filled := wasEmpty && len(s.clusters) > 0
	s.mu.Unlock()
	if filled {
		s.filled()
	}
}

// add adds the report of a cluster. The store's mutex is held.
func (r *Reporter) add(c *endpointv3.ClusterStats, now time.Time) {
	key := clusterKey{text(c.GetClusterName()), text(c.GetClusterServiceName())}
	e := r.store.clusters[key]
	if e == nil || r.clusters[e] == nil {
		if !r.client.enter(key) {
			return
		}
		e = r.store.entry(key)
		e.users++
		r.clusters[e] = &reported{client: r.client, categories: make(map[string]struct{}), localities: make(map[LocalityID]*reportedLocality)}
	}
	own := r.clusters[e]
	own.seen = now
	if e.others == nil {
		e.others = &others{drops: make(map[string]uint64), localities: make(map[LocalityID]*load), running: make(map[LocalityID]uint64)}
	}
	o := e.others
	rest := c.GetTotalDroppedRequests()
	for _, d := range c.GetDroppedRequests() {
		category, n := text(d.GetCategory()), min(d.GetDroppedCount(), rest)
		if _, known := o.drops[category]; own.category(category) && (known || len(o.drops) < maxCategories) {
			o.drops[category] = plus(o.drops[category], n)
			rest -= n
		}
	}
	if rest > 0 {
		o.drops[""] = plus(o.drops[""], rest)
	}
	for _, l := range c.GetUpstreamLocalityStats() {
		id := LocalityID{text(l.GetLocality().GetRegion()), text(l.GetLocality().GetZone()), text(l.GetLocality().GetSubZone())}
		mine := own.localities[id]
		if mine == nil {
			if len(own.localities) >= maxLocalities || r.localities >= maxReportedLocalities || !own.share(len(id.Region)+len(id.Zone)+len(id.SubZone)) {
				continue
			}
			r.localities++
			mine = new(reportedLocality)
			own.localities[id] = mine
		}
		sum := o.localities[id]
		if sum == nil {
			sum = new(load)
			o.localities[id] = sum
		}
		sum.merge(&load{issued: l.GetTotalIssuedRequests(), succeeded: l.GetTotalSuccessfulRequests(), failed: l.GetTotalErrorRequests()})
		sum.metrics.addReport(l, func(name string) bool { return own.metric(mine, name) })
		n := min(l.GetTotalRequestsInProgress(), maxRunning)
		o.running[id] += n - mine.running
		mine.running = n
	}
}

// Close ends the use of the reporter: its calls in progress are gone. The load that it has added is reported.
func (r *Reporter) Close() {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range r.clusters {
		r.leave(e)
	}
	r.clusters, r.closed = nil, true
}

// leave ends the use of a cluster: the calls in progress are gone. The store's mutex is held.
func (r *Reporter) leave(e *clusterEntry) {
	own := r.clusters[e]
	for id, l := range own.localities {
		if e.others.running[id] -= l.running; e.others.running[id] == 0 {
			delete(e.others.running, id)
		}
	}
	r.localities -= len(own.localities)
	r.client.leave(e.clusterKey, own.shares, own.bytes)
	delete(r.clusters, e)
	e.leave()
}

// sweep forgets clusters without recent reports. The store's mutex is held.
func (r *Reporter) sweep(now time.Time) {
	if now.Sub(r.swept) < reportedSweep {
		return
	}
	r.swept = now
	for e, x := range r.clusters {
		if now.Sub(x.seen) >= reportedAge {
			r.leave(e)
		}
	}
}

// others is the load of a cluster that reporters have added and that was not sent yet. The store's mutex guards it.
type others struct {
	drops      map[string]uint64 // by category
	localities map[LocalityID]*load
	running    map[LocalityID]uint64 // calls in progress of all reporters
	offered    *others               // the part of the current delta; nil: there is none
}

// offer moves everything to the part of the current delta, and returns it.
func (o *others) offer() *others {
	if o.offered == nil {
		o.offered = &others{drops: make(map[string]uint64), localities: make(map[LocalityID]*load)}
	}
	for category, n := range o.drops {
		o.offered.drops[category] = plus(o.offered.drops[category], n)
	}
	for id, l := range o.localities {
		if o.offered.localities[id] == nil {
			o.offered.localities[id] = new(load)
		}
		o.offered.localities[id].merge(l)
	}
	clear(o.drops)
	clear(o.localities)
	return o.offered
}

// reported reports whether everything was sent.
func (o *others) reported() bool {
	return o == nil || len(o.drops) == 0 && len(o.localities) == 0 && o.offered == nil
}

// merge adds the load of another sum.
func (s *load) merge(o *load) {
	s.issued = plus(s.issued, o.issued)
	s.succeeded = plus(s.succeeded, o.succeeded)
	s.failed = plus(s.failed, o.failed)
	s.metrics.add(&o.metrics)
}

// plus returns a sum, at most 2⁶⁴-1: other clients may report any numbers.
func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// prefix of the names of metrics that come from named_metrics (gRFC A85).
const namedPrefix = "named_metrics."

// addReport adds the endpoint metrics of a report that count. Names without the prefix of gRFC A85 keep their form.
func (t *tally) addReport(l *endpointv3.UpstreamLocalityStats, counts func(name string) bool) {
	for _, x := range []struct {
		sum *metric
		of  *endpointv3.UnnamedEndpointLoadMetricStats
	}{{&t.cpu, l.GetCpuUtilization()}, {&t.memory, l.GetMemUtilization()}, {&t.application, l.GetApplicationUtilization()}} {
		if finite(x.of.GetTotalMetricValue()) {
			x.sum.add(metric{x.of.GetNumRequestsFinishedWithMetric(), x.of.GetTotalMetricValue()})
		}
	}
	for _, m := range l.GetLoadMetricStats() {
		if !finite(m.GetTotalMetricValue()) || !counts(m.GetMetricName()) {
			continue
		}
		sum := metric{m.GetNumRequestsFinishedWithMetric(), m.GetTotalMetricValue()}
		if name, ok := strings.CutPrefix(m.GetMetricName(), namedPrefix); ok {
			t.addNamed(name, sum)
		} else {
			t.addForeign(m.GetMetricName(), sum)
		}
	}
}

func finite(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }

// dropStats adds the drops by category to stats.
func dropStats(stats *endpointv3.ClusterStats, byCategory map[string]uint64) {
	for _, category := range slices.Sorted(maps.Keys(byCategory)) {
		n := byCategory[category]
		stats.TotalDroppedRequests = plus(stats.TotalDroppedRequests, n)
		if n > 0 && category != "" {
			stats.DroppedRequests = append(stats.DroppedRequests,
				&endpointv3.ClusterStats_DroppedRequests{Category: category, DroppedCount: n})
		}
	}
}

// report adds what is not sent yet to the sums of a report. Until the delta is committed, the next one has it again.
func (o *others) report(byCategory map[string]uint64, byID map[LocalityID]*load) {
	offered := o.offer()
	for category, n := range offered.drops {
		byCategory[category] = plus(byCategory[category], n)
	}
	of := func(id LocalityID) *load {
		if byID[id] == nil {
			byID[id] = new(load)
		}
		return byID[id]
	}
	for id, l := range offered.localities {
		of(id).merge(l)
	}
	for id, n := range o.running {
		of(id).inProgress += n
	}
}
