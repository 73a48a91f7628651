package load

import (
	"fmt"
	"math"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
)

// report returns the report of a cluster with one locality.
func report(cluster string, l *endpointv3.UpstreamLocalityStats) []*endpointv3.ClusterStats {
	if l.Locality == nil {
		l.Locality = &corev3.Locality{Zone: "z"}
	}
	return []*endpointv3.ClusterStats{{ClusterName: cluster, UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{l}}}
}

// The load of reporters and that of the program are one sum. Load is reported once, and again if it was not sent.
func TestReporter(t *testing.T) {
	filled := 0
	s := NewStore(func() { filled++ })
	one, two := s.Reporter(), s.Reporter()
	named := func(name string, calls uint64, total float64) *endpointv3.EndpointLoadMetricStats {
		return &endpointv3.EndpointLoadMetricStats{MetricName: name, NumRequestsFinishedWithMetric: calls, TotalMetricValue: total}
	}
	one.Add(report("c", &endpointv3.UpstreamLocalityStats{
		TotalIssuedRequests: 7, TotalSuccessfulRequests: 4, TotalErrorRequests: 1, TotalRequestsInProgress: 2,
		CpuUtilization:  &endpointv3.UnnamedEndpointLoadMetricStats{NumRequestsFinishedWithMetric: 2, TotalMetricValue: 1.5},
		LoadMetricStats: []*endpointv3.EndpointLoadMetricStats{named("named_metrics.a", 1, 2), named("envoy", 1, 3), named("bad", 1, math.Inf(1))},
	}))
	if filled != 1 {
		t.Errorf("the store was filled %d times, want once", filled)
	}
	two.Add(report("c", &endpointv3.UpstreamLocalityStats{
		TotalIssuedRequests: 3, TotalSuccessfulRequests: 3, LoadMetricStats: []*endpointv3.EndpointLoadMetricStats{named("named_metrics.a", 1, 5)},
	}))
	own := s.Cluster("c", "")
	locality := own.Locality(LocalityID{Zone: "z"}, Propagation{})
	locality.CallStarted()
	want := &endpointv3.UpstreamLocalityStats{
		Locality: &corev3.Locality{Zone: "z"}, TotalIssuedRequests: 11, TotalSuccessfulRequests: 7, TotalErrorRequests: 1, TotalRequestsInProgress: 3,
		CpuUtilization:  &endpointv3.UnnamedEndpointLoadMetricStats{NumRequestsFinishedWithMetric: 2, TotalMetricValue: 1.5},
		LoadMetricStats: []*endpointv3.EndpointLoadMetricStats{named("named_metrics.a", 2, 7), named("envoy", 1, 3)},
	}
	for _, when := range []string{"first report", "after a report that was not sent"} {
		if d := s.Delta(everything, time.Now()); len(d.Stats) != 1 || len(d.Stats[0].UpstreamLocalityStats) != 1 || !proto.Equal(d.Stats[0].UpstreamLocalityStats[0], want) {
			t.Errorf("%s: %v, want %v", when, d.Stats, want)
		}
	}
	s.Delta(everything, time.Now()).Commit()
	d := s.Delta(everything, time.Now())
	if l := d.Stats[0].UpstreamLocalityStats[0]; l.TotalIssuedRequests != 0 || l.TotalRequestsInProgress != 3 {
		t.Errorf("next report = %v, want only calls in progress", l)
	}
	one.Add(report("c", &endpointv3.UpstreamLocalityStats{TotalSuccessfulRequests: 1, TotalRequestsInProgress: 1}))
	d.Commit() // must not lose what was added since
	if l := s.Delta(everything, time.Now()).Stats[0].UpstreamLocalityStats[0]; l.TotalSuccessfulRequests != 1 || l.TotalRequestsInProgress != 2 {
		t.Errorf("report = %v, want the call that finished since and 2 in progress", l)
	}
	locality.CallFinished(nil, nil)
	locality.Release()
	own.Release()
	one.Close()
	two.Close()
	one.Add(report("late", &endpointv3.UpstreamLocalityStats{TotalIssuedRequests: 1}))
	if l := s.Delta(everything, time.Now()).Stats[0].UpstreamLocalityStats[0]; l.TotalSuccessfulRequests != 2 || l.TotalRequestsInProgress != 0 {
		t.Errorf("report after the end = %v, want 2 finished calls and none in progress", l)
	}
	s.Delta(everything, time.Now()).Commit()
	if !s.Empty() {
		t.Error("the store is not empty after everything was reported")
	}
}

// The calls in progress of a reporter end with it. Those of other reporters continue.
func TestReporterCloses(t *testing.T) {
	s := NewStore(nil)
	one, two := s.Reporter(), s.Reporter()
	one.Add(report("c", &endpointv3.UpstreamLocalityStats{TotalIssuedRequests: 2, TotalRequestsInProgress: 2}))
	two.Add(report("c", &endpointv3.UpstreamLocalityStats{TotalIssuedRequests: 3, TotalRequestsInProgress: 3}))
	one.Close()
	if l := s.Delta(everything, time.Now()).Stats[0].UpstreamLocalityStats[0]; l.TotalIssuedRequests != 5 || l.TotalRequestsInProgress != 3 {
		t.Errorf("report after one of two has closed = %v, want all calls, and 3 in progress", l)
	}
	two.Close()
	if l := s.Delta(everything, time.Now()).Stats[0].UpstreamLocalityStats[0]; l.TotalRequestsInProgress != 0 {
		t.Errorf("report after both have closed = %v, want none in progress", l)
	}
}

// Drops of reporters add up by category. A report cannot claim more by category than in total.
func TestReporterDrops(t *testing.T) {
	s := NewStore(nil)
	drops := func(total uint64, list ...*endpointv3.ClusterStats_DroppedRequests) []*endpointv3.ClusterStats {
		return []*endpointv3.ClusterStats{{ClusterName: "c", TotalDroppedRequests: total, DroppedRequests: list}}
	}
	s.Reporter().Add(drops(5, &endpointv3.ClusterStats_DroppedRequests{Category: "x", DroppedCount: 2}))
	s.Reporter().Add(drops(3, &endpointv3.ClusterStats_DroppedRequests{Category: "x", DroppedCount: 9}))
	s.Cluster("c", "").Drop("y")
	d := s.Delta(everything, time.Now())
	if got := d.Stats[0]; got.TotalDroppedRequests != 9 || len(got.DroppedRequests) != 2 || got.DroppedRequests[0].GetDroppedCount() != 5 || got.DroppedRequests[1].GetDroppedCount() != 1 {
		t.Errorf("report = %v, want 9 drops: 5 of x and 1 of y", got)
	}
}

// A hostile reporter cannot fill the memory.
func TestReporterBounds(t *testing.T) {
	s := NewStore(nil)
	r := s.Reporter()
	for i := range maxReported + 100 {
		r.Add([]*endpointv3.ClusterStats{{ClusterName: fmt.Sprint(i), TotalDroppedRequests: 1}})
	}
	c := &endpointv3.ClusterStats{ClusterName: "0"}
	for i := range maxLocalities + 100 {
		c.UpstreamLocalityStats = append(c.UpstreamLocalityStats, &endpointv3.UpstreamLocalityStats{Locality: &corev3.Locality{Zone: fmt.Sprint(i)}, TotalIssuedRequests: 1})
		c.TotalDroppedRequests++
		c.DroppedRequests = append(c.DroppedRequests, &endpointv3.ClusterStats_DroppedRequests{Category: fmt.Sprint(i), DroppedCount: 1})
	}
	r.Add([]*endpointv3.ClusterStats{c})
	d := s.Delta(everything, time.Now())
	if len(d.Stats) != maxReported {
		t.Errorf("%d clusters are reported, want %d", len(d.Stats), maxReported)
	}
	if n, drops := len(d.Stats[0].UpstreamLocalityStats), len(d.Stats[0].DroppedRequests); n != maxLocalities || drops > maxCategories {
		t.Errorf("%d localities and %d categories are reported, want %d and at most %d", n, drops, maxLocalities, maxCategories)
	}
}

// A reporter of absurd numbers and of many localities changes no load of others: sums do not wrap, and its localities count
// against itself.
func TestReporterHarmsNoOther(t *testing.T) {
	s := NewStore(nil)
	evil, good := s.Reporter(), s.Reporter()
	most := func() *endpointv3.UpstreamLocalityStats {
		return &endpointv3.UpstreamLocalityStats{
			TotalIssuedRequests: math.MaxUint64, TotalSuccessfulRequests: math.MaxUint64, TotalErrorRequests: math.MaxUint64, TotalRequestsInProgress: math.MaxUint64,
		}
	}
	many := &endpointv3.ClusterStats{ClusterName: "shop", TotalDroppedRequests: math.MaxUint64}
	for i := range 2 * maxLocalities {
		l := most()
		l.Locality = &corev3.Locality{Zone: fmt.Sprint(i)}
		many.UpstreamLocalityStats = append(many.UpstreamLocalityStats, l)
	}
	evil.Add([]*endpointv3.ClusterStats{many, many})
	evil.Add(report("shop", most()))
	good.Add(report("shop", &endpointv3.UpstreamLocalityStats{Locality: &corev3.Locality{Zone: "0"}, TotalIssuedRequests: 9, TotalRequestsInProgress: 1}))
	good.Add(report("shop", &endpointv3.UpstreamLocalityStats{Locality: &corev3.Locality{Zone: "good"}, TotalIssuedRequests: 7}))
	d := s.Delta(everything, time.Now())
	if n := d.Stats[0].GetTotalDroppedRequests(); n != math.MaxUint64 {
		t.Errorf("%d drops, want 2^64-1", n)
	}
	zones := make(map[string]*endpointv3.UpstreamLocalityStats)
	for _, l := range d.Stats[0].GetUpstreamLocalityStats() {
		zones[l.GetLocality().GetZone()] = l
	}
	if n := zones["0"].GetTotalIssuedRequests(); n != math.MaxUint64 {
		t.Errorf("the sum of 2^64-1 and others is %d, want 2^64-1", n)
	}
	if n := zones["0"].GetTotalRequestsInProgress(); n < 1<<30 {
		t.Errorf("%d calls in progress, want many", n)
	}
	if n := zones["good"].GetTotalIssuedRequests(); n != 7 {
		t.Errorf("%d calls to the locality of another client, want 7", n)
	}
}

// The clusters of a reporter have a limit of localities together.
func TestReporterLocalitiesOfAllClusters(t *testing.T) {
	s := NewStore(nil)
	r := s.Reporter()
	for i := range maxReportedLocalities + 100 {
		r.Add(report(fmt.Sprint(i%200), &endpointv3.UpstreamLocalityStats{Locality: &corev3.Locality{Zone: fmt.Sprint(i / 200)}, TotalIssuedRequests: 1}))
	}
	n := 0
	for _, c := range s.Delta(everything, time.Now()).Stats {
		n += len(c.GetUpstreamLocalityStats())
	}
	if n != maxReportedLocalities {
		t.Errorf("%d localities are reported, want %d", n, maxReportedLocalities)
	}
}
