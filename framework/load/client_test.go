package load

import (
	"fmt"
	"runtime"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// reachable returns the size of all reachable objects.
func reachable() int {
	runtime.GC()
	runtime.GC() // pools keep their content for one more
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The clusters and shares of a client have the memory that docs/limits.md promises, besides their names.
func TestMemoryOfAClient(t *testing.T) {
	const n = 10_000
	cluster := func(i int) *endpointv3.ClusterStats {
		return &endpointv3.ClusterStats{ClusterName: fmt.Sprint("cluster", i/500), TotalDroppedRequests: 1}
	}
	for name, x := range map[string]struct {
		most int
		of   func(i int) *endpointv3.ClusterStats
	}{
		"clusters": {1280, func(i int) *endpointv3.ClusterStats {
			return &endpointv3.ClusterStats{ClusterName: fmt.Sprint("cluster", i), TotalDroppedRequests: 1}
		}},
		"categories": {640, func(i int) *endpointv3.ClusterStats {
			c := cluster(i)
			c.DroppedRequests = []*endpointv3.ClusterStats_DroppedRequests{{Category: fmt.Sprint(i), DroppedCount: 1}}
			return c
		}},
		"localities": {640, func(i int) *endpointv3.ClusterStats {
			c := cluster(i)
			c.UpstreamLocalityStats = []*endpointv3.UpstreamLocalityStats{{Locality: &corev3.Locality{Zone: fmt.Sprint(i)}, TotalIssuedRequests: 1, TotalRequestsInProgress: 1}}
			return c
		}},
		"metrics": {640, func(i int) *endpointv3.ClusterStats {
			c := cluster(i)
			c.UpstreamLocalityStats = []*endpointv3.UpstreamLocalityStats{{LoadMetricStats: []*endpointv3.EndpointLoadMetricStats{
				{MetricName: fmt.Sprint(i), NumRequestsFinishedWithMetric: 1, TotalMetricValue: 1},
			}}}
			return c
		}},
	} {
		var all []*endpointv3.ClusterStats
		for i := range n {
			all = append(all, x.of(i))
		}
		before := reachable()
		s := NewStore(nil)
		r := s.Reporter()
		r.Add(all)
		if got := (reachable() - before) / n; got > x.most {
			t.Errorf("%s: each takes %d bytes, must be at most %d", name, got, x.most)
		} else {
			t.Logf("%s: each takes %d bytes", name, got)
		}
		r.Close()
		runtime.KeepAlive(all)
	}
}
