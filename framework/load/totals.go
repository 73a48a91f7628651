package load

import (
	"maps"
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// Totals returns the counts of all clusters in the form of a report, ordered by their names. They start when the store
// begins to count a cluster or locality, and not with the last report. They have no endpoint metrics. Totals has no
// effect on reports.
func (s *Store) Totals() []*endpointv3.ClusterStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*endpointv3.ClusterStats, 0, len(s.clusters))
	for _, key := range slices.SortedFunc(maps.Keys(s.clusters), compareClusters) {
		list = append(list, s.clusters[key].totals())
	}
	return list
}

// totals returns the counts of a cluster. The store's mutex is held.
func (e *clusterEntry) totals() *endpointv3.ClusterStats {
	stats := &endpointv3.ClusterStats{ClusterName: e.cluster, ClusterServiceName: e.service}
	all := *e.drops.Load()
	for _, category := range slices.Sorted(maps.Keys(all)) {
		n := all[category].sum(dropped)
		stats.TotalDroppedRequests += n
		if category != "" {
			stats.DroppedRequests = append(stats.DroppedRequests, &endpointv3.ClusterStats_DroppedRequests{Category: category, DroppedCount: n})
		}
	}
	byID := make(map[LocalityID]load, len(e.localities))
	for _, l := range e.localities {
		t, sum := l.totals(), byID[l.LocalityID]
		sum.issued += t[issued]
		sum.succeeded += t[succeeded]
		sum.failed += t[failed]
		sum.inProgress += t.inProgress()
		byID[l.LocalityID] = sum
	}
	for _, id := range slices.SortedFunc(maps.Keys(byID), compareLocalities) {
		sum := byID[id]
		stats.UpstreamLocalityStats = append(stats.UpstreamLocalityStats, sum.stats(id))
	}
	return stats
}
