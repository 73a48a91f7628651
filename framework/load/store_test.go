package load

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"
)

var errCall = errors.New("the call failed")

// everything is the filter of servers that set send_all_clusters.
var everything = ClusterFilter{All: true}

// commit creates a report and commits it.
func commit(s *Store) []*endpointv3.ClusterStats {
	delta := s.Delta(everything, time.Now())
	delta.Commit()
	return delta.Stats
}

// wantStats compares ClusterStats with their texts.
func wantStats(t *testing.T, got []*endpointv3.ClusterStats, want ...string) {
	t.Helper()
	var stats []*endpointv3.ClusterStats
	for _, text := range want {
		m := new(endpointv3.ClusterStats)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		stats = append(stats, m)
	}
	if diff := cmp.Diff(stats, got, protocmp.Transform()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestWhatAReportHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(nil)
		c := s.Cluster("checkout", "eds")
		south := c.Locality(LocalityID{"south", "s-1", "a"}, Propagation{})
		north := c.Locality(LocalityID{Region: "north"}, Propagation{})
		s.Cluster("another", "").Locality(LocalityID{}, Propagation{})
		for range 3 {
			south.CallStarted()
		}
		south.CallFinished(nil, &Metrics{CPU: 1}) // not configured, so no metric is propagated
		south.CallFinished(errCall, nil)
		c.Drop("throttle")
		c.Drop("throttle")
		c.Drop("")
		pass(1500 * time.Millisecond)
		wantStats(t, commit(s), `
			cluster_name: "checkout" cluster_service_name: "eds" load_report_interval { seconds: 1 nanos: 500000000 }
			total_dropped_requests: 3 dropped_requests { category: "throttle" dropped_count: 2 }
			upstream_locality_stats {
				locality { region: "south" zone: "s-1" sub_zone: "a" }
				total_issued_requests: 3 total_successful_requests: 1 total_error_requests: 1 total_requests_in_progress: 1
			}`)

		// A gauge stays. A counter is reported once. The period begins with the previous report,
		// even if that was empty.
		north.CallStarted()
		pass(2 * time.Second)
		wantStats(t, commit(s), `
			cluster_name: "checkout" cluster_service_name: "eds" load_report_interval { seconds: 2 }
			upstream_locality_stats { locality { region: "north" } total_issued_requests: 1 total_requests_in_progress: 1 }
			upstream_locality_stats { locality { region: "south" zone: "s-1" sub_zone: "a" } total_requests_in_progress: 1 }`)
		south.CallFinished(nil, nil)
		north.CallFinished(errCall, nil)
		wantStats(t, commit(s), `
			cluster_name: "checkout" cluster_service_name: "eds" load_report_interval {}
			upstream_locality_stats { locality { region: "north" } total_error_requests: 1 }
			upstream_locality_stats { locality { region: "south" zone: "s-1" sub_zone: "a" } total_successful_requests: 1 }`)
		wantStats(t, commit(s))
	})
}

func TestWhatWasNotSentIsPartOfTheNextReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(nil)
		c := s.Cluster("c", "")
		l := c.Locality(LocalityID{}, Propagation{AllNamed: true})
		for range 2 {
			l.CallStarted()
			l.CallFinished(nil, &Metrics{Named: map[string]float64{"m": 1.5}})
			c.Drop("d")
			pass(time.Second)
			s.Delta(everything, time.Now()) // and thrown away
		}
		wantStats(t, commit(s), `
			cluster_name: "c" load_report_interval { seconds: 2 }
			total_dropped_requests: 2 dropped_requests { category: "d" dropped_count: 2 }
			upstream_locality_stats {
				locality {} total_issued_requests: 2 total_successful_requests: 2
				load_metric_stats { metric_name: "named_metrics.m" num_requests_finished_with_metric: 2 total_metric_value: 3 }
			}`)
		wantStats(t, commit(s))
	})
}

func TestOnlyWhatIsAskedForIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(nil)
		s.Cluster("a", "").Drop("")
		s.Cluster("b", "").Drop("")
		unwanted := s.Cluster("b", "2")
		unwanted.Drop("")
		unwanted.Release()
		pass(time.Second)
		delta := s.Delta(ClusterFilter{Clusters: map[string]struct{}{"a": {}, "x": {}}}, time.Now())
		wantStats(t, delta.Stats, `cluster_name: "a" total_dropped_requests: 1 load_report_interval { seconds: 1 }`)
		delta.Commit()
		pass(time.Second)
		// A used cluster b waits until a server requests it. An unused b is gone.
		wantStats(t, commit(s), `cluster_name: "b" total_dropped_requests: 1 load_report_interval { seconds: 2 }`)
	})
}

func TestHandlesShareTheirCounters(t *testing.T) {
	s := NewStore(nil)
	a, b := s.Cluster("c", ""), s.Cluster("c", "")
	a.Drop("")
	b.Drop("")
	p := Propagation{Named: []string{"x"}}
	for _, l := range []*Locality{a.Locality(LocalityID{}, p), b.Locality(LocalityID{}, p), b.Locality(LocalityID{}, Propagation{})} {
		l.CallStarted()
		l.CallFinished(nil, &Metrics{Named: map[string]float64{"x": 1, "y": 1}})
	}
	got := commit(s)
	got[0].LoadReportInterval = nil
	wantStats(t, got, `
		cluster_name: "c" total_dropped_requests: 2
		upstream_locality_stats {
			locality {} total_issued_requests: 3 total_successful_requests: 3
			load_metric_stats { metric_name: "named_metrics.x" num_requests_finished_with_metric: 2 total_metric_value: 2 }
		}`)
}

func TestWhatIsOutOfUseIsReportedOnceMoreAndGoes(t *testing.T) {
	var filled int
	s := NewStore(func() { filled++ })
	c := s.Cluster("c", "")
	l := c.Locality(LocalityID{}, Propagation{})
	again := c.Locality(LocalityID{}, Propagation{})
	l.CallStarted()
	c.Drop("")
	l.Release()
	l.Release() // and not the other handle's
	c.Release()
	c.Release()
	commit(s)
	if s.Empty() {
		t.Fatal("a locality in use went")
	}
	again.Release()
	if got := commit(s); s.Empty() || got[0].GetUpstreamLocalityStats()[0].GetTotalRequestsInProgress() != 1 {
		t.Fatalf("report = %v; must have the call in progress", got)
	}
	l.CallFinished(nil, nil)
	delta := s.Delta(everything, time.Now())
	if n := delta.Stats[0].GetUpstreamLocalityStats()[0].GetTotalSuccessfulRequests(); n != 1 || s.Empty() {
		t.Fatalf("the remainder has %d calls; must have 1, and stay until it was sent", n)
	}
	delta.Commit()
	if !s.Empty() {
		t.Fatal("an unused cluster is still in the store after its report")
	}
	s.Cluster("c", "")
	if filled != 2 {
		t.Errorf("the store told %d times that it is not empty any more; must be 2", filled)
	}
}

func TestWhatHappensWhileAReportIsSentIsNotForgotten(t *testing.T) {
	s := NewStore(nil)
	c := s.Cluster("c", "")
	l := c.Locality(LocalityID{}, Propagation{})
	delta := s.Delta(everything, time.Now())
	l.CallStarted()
	l.CallFinished(nil, nil)
	l.Release()
	c.Drop("")
	c.Release()
	delta.Commit()
	got := commit(s)
	if len(got) != 1 || got[0].GetTotalDroppedRequests() != 1 || got[0].GetUpstreamLocalityStats()[0].GetTotalSuccessfulRequests() != 1 {
		t.Errorf("report = %v; must have a drop and a call", got)
	}
	if !s.Empty() {
		t.Error("reported, and still there")
	}
}

func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(nil)
		used := s.Cluster("used", "")
		for _, name := range []string{"old", "new"} {
			c := s.Cluster(name, "")
			c.Drop("")
			c.Release()
			pass(time.Minute)
		}
		s.Forget(time.Now().Add(-90 * time.Second))
		used.Drop("")
		if got := commit(s); len(got) != 2 || got[0].GetClusterName() != "new" || got[1].GetClusterName() != "used" {
			t.Errorf("report = %v; want the clusters in use and those released since the last report", got)
		}
	})
}

func TestMetrics(t *testing.T) {
	m := &Metrics{
		CPU: 0.5, Memory: 0.25, Application: 2,
		Named: map[string]float64{"a": 1, "b": 2, "nan": math.NaN(), "inf": math.Inf(-1), "\xff": 1},
	}
	const named = `load_metric_stats { metric_name: "named_metrics.a" num_requests_finished_with_metric: 2 total_metric_value: 2 }`
	for name, tc := range map[string]struct {
		propagation Propagation
		want        string
	}{
		"nothing unless it is asked for": {Propagation{}, ``},
		"cpu":                            {Propagation{CPU: true}, `cpu_utilization { num_requests_finished_with_metric: 2 total_metric_value: 1 }`},
		"memory":                         {Propagation{Memory: true}, `mem_utilization { num_requests_finished_with_metric: 2 total_metric_value: 0.5 }`},
		"application":                    {Propagation{Application: true}, `application_utilization { num_requests_finished_with_metric: 2 total_metric_value: 4 }`},
		"by name":                        {Propagation{Named: []string{"a", "inf", "missing", "nan"}}, named},
		"all names": {
			Propagation{AllNamed: true},
			named + `load_metric_stats { metric_name: "named_metrics.b" num_requests_finished_with_metric: 2 total_metric_value: 4 }`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(nil)
			l := s.Cluster("c", "").Locality(LocalityID{}, tc.propagation)
			for _, m := range []*Metrics{m, nil, m, {CPU: -1, Memory: math.NaN(), Application: math.Inf(1)}} {
				l.CallStarted()
				l.CallFinished(nil, m)
			}
			got := commit(s)
			got[0].LoadReportInterval = nil
			wantStats(t, got, `cluster_name: "c" upstream_locality_stats {
				locality {} total_issued_requests: 4 total_successful_requests: 4 `+tc.want+` }`)
			wantStats(t, commit(s))
		})
	}
}

// pass advances the clock of a test.
func pass(d time.Duration) { <-time.NewTimer(d).C }
