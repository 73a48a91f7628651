package serve

import (
	"runtime"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/proto"
)

// The decoded elements of a load report have the memory that docs/limits.md promises. Each of them is as large as one with
// short names can be.
func TestMemoryOfALoadReport(t *testing.T) {
	const n, most = 50_000, 512
	unnamed := new(endpointv3.UnnamedEndpointLoadMetricStats)
	for name, add := range map[string]func(c *endpointv3.ClusterStats){
		"localities": func(c *endpointv3.ClusterStats) {
			c.UpstreamLocalityStats = append(c.UpstreamLocalityStats, &endpointv3.UpstreamLocalityStats{
				Locality:       &corev3.Locality{Region: "a", Zone: "b", SubZone: "c"},
				CpuUtilization: unnamed, MemUtilization: unnamed, ApplicationUtilization: unnamed,
			})
		},
		"drops": func(c *endpointv3.ClusterStats) {
			c.DroppedRequests = append(c.DroppedRequests, &endpointv3.ClusterStats_DroppedRequests{Category: "a"})
		},
		"metrics": func(c *endpointv3.ClusterStats) {
			if len(c.UpstreamLocalityStats) == 0 {
				c.UpstreamLocalityStats = []*endpointv3.UpstreamLocalityStats{{}}
			}
			l := c.UpstreamLocalityStats[0]
			l.LoadMetricStats = append(l.LoadMetricStats, &endpointv3.EndpointLoadMetricStats{MetricName: "a"})
		},
		"endpoints": func(c *endpointv3.ClusterStats) {
			if len(c.UpstreamLocalityStats) == 0 {
				c.UpstreamLocalityStats = []*endpointv3.UpstreamLocalityStats{{}}
			}
			l := c.UpstreamLocalityStats[0]
			l.UpstreamEndpointStats = append(l.UpstreamEndpointStats, new(endpointv3.UpstreamEndpointStats))
		},
	} {
		c := new(endpointv3.ClusterStats)
		for range n {
			add(c)
		}
		raw, err := proto.Marshal(&loadstatsv3.LoadStatsRequest{ClusterStats: []*endpointv3.ClusterStats{c}})
		if err != nil {
			t.Fatal(err)
		}
		limits, err := Limits{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		g := &guest{server: &Server{settings: settings{limits: limits}}, meter: newMeter(&limits, time.Now())}
		before := reachable()
		r, err := g.decodeLoad(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := (reachable() - before) / n; got > most {
			t.Errorf("%s: an element takes %d bytes, must be at most %d", name, got, most)
		}
		runtime.KeepAlive(r)
	}
}

// reachable returns the size of all reachable objects.
func reachable() int {
	runtime.GC()
	runtime.GC() // pools keep their content for one more
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
