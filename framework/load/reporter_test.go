package load

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
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

// All reporters of a client share its limits, and use no others'. A cluster of several reporters counts once. Clusters
// without a report for an hour make room for others.
func TestReportersOfAClientShareItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, evil := NewStore(nil), new(Client)
		one, two := s.ReporterOf(evil), s.ReporterOf(evil)
		numbers := func(from, to int) (list []*endpointv3.ClusterStats) {
			for i := from; i < to; i++ {
				list = append(list, &endpointv3.ClusterStats{ClusterName: fmt.Sprint(i), TotalDroppedRequests: 1})
			}
			return list
		}
		one.Add(numbers(0, maxReported))
		two.Add(numbers(0, 10))
		two.Add(numbers(maxReported, maxReported+10))
		if d := s.Delta(everything, time.Now()); len(d.Stats) != maxReported {
			t.Errorf("%d clusters of two reporters of a client, want %d", len(d.Stats), maxReported)
		} else {
			d.Commit()
		}
		good := s.ReporterOf(new(Client))
		good.Add(numbers(maxReported, maxReported+10))
		if d := s.Delta(everything, time.Now()); len(d.Stats) != 10 {
			t.Errorf("%d clusters of another client, want 10", len(d.Stats))
		} else {
			d.Commit()
		}
		<-time.NewTimer(reportedAge).C
		one.Add(numbers(maxReported+20, maxReported+30))
		if d := s.Delta(everything, time.Now()); len(d.Stats) != 10 {
			t.Errorf("%d clusters an hour later, want 10 new ones", len(d.Stats))
		}
		one.Close()
		two.Close()
		if len(evil.names) != 0 || evil.bytes != 0 || evil.shares != 0 {
			t.Errorf("a client without reporters has %d names of %d bytes, and %d shares", len(evil.names), evil.bytes, evil.shares)
		}
	})
}

// The lengths of the names of a client, and its clusters and localities in all reporters, have limits.
func TestBoundsOfAClient(t *testing.T) {
	c := new(Client)
	long := func(i int) clusterKey { return clusterKey{fmt.Sprint(i), strings.Repeat("x", 1<<20)} }
	n := 0
	for n < 100 && c.enter(long(n)) {
		n++
	}
	if n != 15 {
		t.Errorf("%d names of a MiB, want 15: the numbers have lengths, too", n)
	}
	c.shares = maxShares - 1
	if !c.share(1000) || c.share(1) || c.enter(clusterKey{"a", ""}) {
		t.Error("a client has more or less than its shares")
	}
	c.shares = 100
	if c.share(1<<20) || !c.share(1000) {
		t.Error("a client has more or fewer bytes of names than it may")
	}
	c.leave(long(0), 2, 2000)
	if !c.enter(clusterKey{"a", ""}) {
		t.Error("a client cannot use what it has released")
	}
}

// The names of categories, localities and metrics count against their client, too, whose calls still count.
func TestNamesOfAClientHaveALimit(t *testing.T) {
	s, c := NewStore(nil), new(Client)
	r := s.ReporterOf(c)
	for i := range 40 {
		name := fmt.Sprint(i, strings.Repeat("x", 1<<20))
		r.Add([]*endpointv3.ClusterStats{{
			ClusterName: "c", TotalDroppedRequests: 1, DroppedRequests: []*endpointv3.ClusterStats_DroppedRequests{{Category: name, DroppedCount: 1}},
			UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{
				{TotalIssuedRequests: 1, LoadMetricStats: []*endpointv3.EndpointLoadMetricStats{{MetricName: name, NumRequestsFinishedWithMetric: 1}}},
				{Locality: &corev3.Locality{Zone: name}, TotalIssuedRequests: 1},
			},
		}})
	}
	stats := s.Delta(everything, time.Now()).Stats
	if len(stats) != 1 {
		t.Fatalf("%d clusters are reported, want one", len(stats))
	}
	size, calls := 0, uint64(0)
	for _, d := range stats[0].GetDroppedRequests() {
		size += len(d.GetCategory())
	}
	for _, l := range stats[0].GetUpstreamLocalityStats() {
		size += len(l.GetLocality().GetZone())
		if l.GetLocality().GetZone() == "" {
			calls = l.GetTotalIssuedRequests()
		}
		for _, m := range l.GetLoadMetricStats() {
			size += len(m.GetMetricName())
		}
	}
	if size > maxReportedBytes || size < maxReportedBytes/2 || calls != 40 || stats[0].GetTotalDroppedRequests() != 40 {
		t.Errorf("a client has names of %d bytes, want at most %d; %d calls and %d drops, want 40 of each", size, maxReportedBytes, calls, stats[0].GetTotalDroppedRequests())
	}
	r.Close()
	if c.shares != 0 || c.bytes != 0 {
		t.Errorf("a client without reporters has %d shares and %d bytes", c.shares, c.bytes)
	}
}
