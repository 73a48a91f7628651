package load

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ClusterFilter selects the clusters that a server asks for. It never changes after its creation: copies
// share its set.
type ClusterFilter struct {
	All      bool                // send_all_clusters
	Clusters map[string]struct{} // by name, unless All
}

func (s ClusterFilter) has(cluster string) bool {
	_, ok := s.Clusters[cluster]
	return s.All || ok
}

// A Delta is the load since the last committed one. Nothing is marked as reported before Commit, so a
// discarded delta has no effect. A store has one delta at a time, in one goroutine.
type Delta struct {
	// Stats are the clusters and localities with something to report, ordered by their names.
	Stats []*endpointv3.ClusterStats

	store    *Store
	at       time.Time
	filter   ClusterFilter
	clusters []clusterDelta
}

// A clusterDelta is the part of a report for one cluster.
type clusterDelta struct {
	entry      *clusterEntry
	stats      *endpointv3.ClusterStats // nil: there is nothing to report
	drops      map[*drops]uint64
	localities map[*localityEntry]totals
}

// Delta collects the load of the clusters in a filter.
func (s *Store) Delta(filter ClusterFilter, now time.Time) *Delta {
	r := &Delta{store: s, at: now, filter: filter}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]clusterKey, 0, len(s.clusters))
	for key := range s.clusters {
		if filter.has(key.cluster) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareClusters)
	for _, key := range keys {
		r.add(s.clusters[key])
	}
	return r
}

func compareClusters(a, b clusterKey) int {
	return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.service, b.service))
}

// add collects the load of a cluster. The store's mutex is held.
func (r *Delta) add(e *clusterEntry) {
	delta := clusterDelta{entry: e, drops: make(map[*drops]uint64), localities: make(map[*localityEntry]totals)}
	stats := &endpointv3.ClusterStats{
		ClusterName: e.cluster, ClusterServiceName: e.service,
		LoadReportInterval: durationpb.New(r.at.Sub(e.since)),
	}
	byCategory := make(map[string]uint64)
	for category, d := range *e.drops.Load() {
		total := d.sum(dropped)
		delta.drops[d] = total
		byCategory[category] = total - d.reported
	}
	byID := make(map[LocalityID]*load)
	if e.others != nil {
		e.others.report(byCategory, byID)
	}
	dropStats(stats, byCategory)
	for _, l := range e.localities {
		t := l.totals()
		l.harvest()
		delta.localities[l] = t
		if byID[l.LocalityID] == nil {
			byID[l.LocalityID] = new(load)
		}
		byID[l.LocalityID].add(l, t)
	}
	for _, id := range slices.SortedFunc(maps.Keys(byID), compareLocalities) {
		if sum := byID[id]; !sum.empty() {
			stats.UpstreamLocalityStats = append(stats.UpstreamLocalityStats, sum.stats(id))
		}
	}
	if stats.TotalDroppedRequests > 0 || len(stats.UpstreamLocalityStats) > 0 {
		delta.stats = stats
		r.Stats = append(r.Stats, stats)
	}
	r.clusters = append(r.clusters, delta)
}

func compareLocalities(a, b LocalityID) int {
	return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.SubZone, b.SubZone))
}

// harvest moves the processors' sums to pending, where they stay until they are reported. It runs
// after the totals are read: the metrics of each call that counts as finished are then included.
func (l *localityEntry) harvest() {
	for i := range l.tallies {
		t := &l.tallies[i]
		t.mu.Lock()
		l.pending.move(&t.tally)
		t.mu.Unlock()
	}
}

// Split divides the delta into parts, each of which is committed on its own. Their messages are at
// most limit bytes long, unless a single cluster needs more.
func (r *Delta) Split(limit int) []*Delta {
	part := &Delta{store: r.store, at: r.at, filter: r.filter}
	parts, size := []*Delta{part}, 0
	for _, c := range r.clusters {
		if c.stats != nil {
			n := proto.Size(c.stats) + maxFraming
			if size += n; size > limit && len(part.Stats) > 0 {
				part = &Delta{store: r.store, at: r.at, filter: r.filter}
				parts, size = append(parts, part), n
			}
			part.Stats = append(part.Stats, c.stats)
		}
		part.clusters = append(part.clusters, c)
	}
	return parts
}

// maxFraming is the limit of the bytes that protobuf adds to a message inside another one.
const maxFraming = 1 + 5

// Commit marks the delta as sent. It removes clusters and localities without users if they have
// nothing left to report, or if the server does not ask for them.
func (r *Delta) Commit() {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	for _, delta := range r.clusters {
		delta.commit(r.at)
	}
	maps.DeleteFunc(r.store.clusters, func(_ clusterKey, e *clusterEntry) bool {
		return e.users == 0 && (e.reported() || !r.filter.has(e.cluster))
	})
}

func (c *clusterDelta) commit(at time.Time) {
	c.entry.since = at
	if c.entry.others != nil {
		c.entry.others.offered = nil
	}
	for d, total := range c.drops {
		d.reported = total
	}
	for l, t := range c.localities {
		l.reported, l.pending = t, tally{}
		if l.users == 0 && t.inProgress() == 0 && l.totals() == t {
			delete(c.entry.localities, l.localityKey)
		}
	}
}

// reported reports whether everything has been reported.
func (e *clusterEntry) reported() bool {
	for _, d := range *e.drops.Load() {
		if d.sum(dropped) != d.reported {
			return false
		}
	}
	return len(e.localities) == 0 && e.others.reported()
}

// load is the load of a locality in one report.
type load struct {
	issued, succeeded, failed, inProgress uint64
	metrics                               tally
}

func (s *load) add(l *localityEntry, t totals) {
	s.issued += t[issued] - l.reported[issued]
	s.succeeded += t[succeeded] - l.reported[succeeded]
	s.failed += t[failed] - l.reported[failed]
	s.inProgress += t.inProgress()
	s.metrics.add(&l.pending)
}

func (s *load) empty() bool {
	return s.issued|s.succeeded|s.failed|s.inProgress == 0 && s.metrics.empty()
}

func (s *load) stats(id LocalityID) *endpointv3.UpstreamLocalityStats {
	m := &endpointv3.UpstreamLocalityStats{
		Locality:                &corev3.Locality{Region: id.Region, Zone: id.Zone, SubZone: id.SubZone},
		TotalIssuedRequests:     s.issued,
		TotalSuccessfulRequests: s.succeeded,
		TotalErrorRequests:      s.failed,
		TotalRequestsInProgress: s.inProgress,
		CpuUtilization:          unnamed(s.metrics.cpu),
		MemUtilization:          unnamed(s.metrics.memory),
		ApplicationUtilization:  unnamed(s.metrics.application),
	}
	for _, name := range slices.Sorted(maps.Keys(s.metrics.named)) {
		sum := s.metrics.named[name]
		m.LoadMetricStats = append(m.LoadMetricStats, &endpointv3.EndpointLoadMetricStats{
			MetricName:                    namedPrefix + name, // gRFC A85
			NumRequestsFinishedWithMetric: sum.calls, TotalMetricValue: sum.total,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(s.metrics.foreign)) {
		sum := s.metrics.foreign[name]
		m.LoadMetricStats = append(m.LoadMetricStats, &endpointv3.EndpointLoadMetricStats{
			MetricName: name, NumRequestsFinishedWithMetric: sum.calls, TotalMetricValue: sum.total,
		})
	}
	return m
}

func unnamed(m metric) *endpointv3.UnnamedEndpointLoadMetricStats {
	if m.calls == 0 {
		return nil
	}
	return &endpointv3.UnnamedEndpointLoadMetricStats{NumRequestsFinishedWithMetric: m.calls, TotalMetricValue: m.total}
}
