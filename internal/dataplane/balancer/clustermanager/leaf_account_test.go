package clustermanager

import (
	"log/slog"
	"maps"
	"testing"
	"time"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A call that was picked for and then not sent counts as no success.
func TestCallsThatAreNotSent(t *testing.T) {
	store := load.NewStore(nil)
	c := store.Cluster("c", "")
	var breakers breaker.Set
	a := (&account{breaker: breakers.Acquire("c", ""), load: c.Locality(load.LocalityID{}, load.Propagation{})}).open()
	for _, info := range []balancer.DoneInfo{{}, {BytesSent: true, BytesReceived: true}} {
		a.breaker.Start(1)
		a.start()
		a.done(info)
	}
	stats := store.Delta(load.ClusterFilter{All: true}, time.Now()).Stats
	if len(stats) != 1 || len(stats[0].GetUpstreamLocalityStats()) != 1 {
		t.Fatalf("the report is %v", stats)
	}
	if l := stats[0].GetUpstreamLocalityStats()[0]; l.GetTotalSuccessfulRequests() != 1 || l.GetTotalErrorRequests() != 1 {
		t.Errorf("of two calls, one of which was sent, the report says %v", l)
	}
}

// TestMetricsOfCalls expects an endpoint's metrics to count only if the load report includes them.
// A missing report counts as none.
func TestMetricsOfCalls(t *testing.T) {
	for _, tt := range []struct {
		metrics bool
		load    any
		want    int // metrics in the report
	}{
		{true, &orcav3.OrcaLoadReport{NamedMetrics: map[string]float64{"m": 1}}, 1},
		{false, &orcav3.OrcaLoadReport{NamedMetrics: map[string]float64{"m": 1}}, 0},
		{true, (*orcav3.OrcaLoadReport)(nil), 0},
		{true, nil, 0},
	} {
		store := load.NewStore(nil)
		locality := store.Cluster("c", "").Locality(load.LocalityID{}, load.Propagation{AllNamed: true})
		var breakers breaker.Set
		a := (&account{breaker: breakers.Acquire("c", ""), load: locality, metrics: tt.metrics}).open()
		a.breaker.Start(1)
		a.start()
		a.done(balancer.DoneInfo{BytesSent: true, ServerLoad: tt.load})
		stats := store.Delta(load.ClusterFilter{All: true}, time.Now()).Stats
		if len(stats) != 1 || len(stats[0].GetUpstreamLocalityStats()) != 1 {
			t.Fatalf("the report is %v", stats)
		}
		if got := stats[0].GetUpstreamLocalityStats()[0].GetLoadMetricStats(); len(got) != tt.want {
			t.Errorf("metrics %t, report %v: the load report has %v, want %d", tt.metrics, tt.load, got, tt.want)
		}
	}
}

// TestServiceOf expects the name of an EDS resource only if it differs from the cluster's name.
func TestServiceOf(t *testing.T) {
	for _, tt := range []struct {
		discovery cluster.Discovery
		want      string
	}{
		{cluster.EDS{ServiceName: "c"}, ""},
		{cluster.EDS{ServiceName: "s"}, "s"},
		{cluster.LogicalDNS{Target: "d"}, ""},
	} {
		if got := serviceOf("c", &cluster.Update{Discovery: tt.discovery}); got != tt.want {
			t.Errorf("the service of %+v is %q, want %q", tt.discovery, got, tt.want)
		}
	}
}

// TestSameUpdate expects a cluster whose configuration changes only in its note to keep the targets
// of its priorities.
func TestSameUpdate(t *testing.T) {
	s := newStage(t)
	c := leafConfig(cluster.EDS{}, "a")
	s.do(func() { s.cluster.Update(c) })
	s.do(func() {
		s.cluster.targets["mark"] = lbtree.Target{}
		s.cluster.Update(c)
	})
	s.do(func() {
		if _, kept := s.cluster.targets["mark"]; !kept {
			t.Error("the targets were rebuilt")
		}
		delete(s.cluster.targets, "mark")
		s.cluster.Update(leafConfig(cluster.EDS{}, "b"))
	})
}

// TestCloseReleasesTheBreaker expects a closed cluster to release the counter of its calls.
func TestCloseReleasesTheBreaker(t *testing.T) {
	loop, breakers := serial.New(func() {}), new(breaker.Set)
	c := newLeafCluster(&lbtree.Env{Loop: loop, Conn: new(channel), State: &lbtree.State{Breakers: breakers, Logger: slog.New(slog.DiscardHandler)}}, "c", func(balancer.State) {})
	loop.Do(func() { c.Update(leafConfig(cluster.EDS{ServiceName: "s"}, "a")) })
	held := breakers.Acquire("c", "s")
	if held != c.breaker {
		t.Fatal("the cluster does not count in its breaker")
	}
	loop.Close(c.Close)
	held.Release()
	if breakers.Acquire("c", "s") == held {
		t.Error("the closed cluster holds its breaker")
	}
	newStage(t) // the last close is of a cluster without a breaker
}

// TestDropsAreReported expects the load report to count a dropped call, by its category.
func TestDropsAreReported(t *testing.T) {
	store := load.NewStore(nil)
	p, _ := newClusterPicker(new(fixed), "")
	p.load = store.Cluster("c", "")
	_ = p.drop("all", "dropped", false)
	stats := store.Delta(load.ClusterFilter{All: true}, time.Now()).Stats
	if len(stats) != 1 || stats[0].GetTotalDroppedRequests() != 1 || len(stats[0].GetDroppedRequests()) != 1 {
		t.Errorf("the report is %v, want one dropped call", stats)
	}
	p.load = nil
	if err := p.drop("all", "dropped", false); err == nil {
		t.Error("a call that is dropped without a report has no error")
	}
}

// TestAuthorityOfAnEndpoint expects the authority to be rewritten only for endpoints with a
// hostname.
func TestAuthorityOfAnEndpoint(t *testing.T) {
	s := newStage(t)
	s.do(func() { s.cluster.Update(leafConfig(cluster.EDS{}, "a")) })
	s.do(func() {
		if a := s.cluster.account(&lbtree.Endpoint{}, new(account), nil); a.authority != nil {
			t.Errorf("an endpoint without a hostname has the authority %v", a.authority)
		}
		if a := s.cluster.account(&lbtree.Endpoint{Hostname: "h"}, new(account), nil); len(a.authority.Get(":authority")) != 1 {
			t.Errorf("an endpoint with a hostname has the authority %v", a.authority)
		}
		none := &subConn{conn: s.cluster.conn}
		s.cluster.conn.assign(none, nil)
		if none.address != "" || none.account.Load() == nil {
			t.Errorf("a subchannel without addresses is for %q", none.address)
		}
		s.cluster.conn.forget(none)
	})
}

// TestUnchangedEndpointsKeepTheirAccounts expects an update to replace the account of an endpoint
// only if something of it changes, and the count of its calls never.
func TestUnchangedEndpointsKeepTheirAccounts(t *testing.T) {
	s := newStage(t)
	for _, step := range []struct {
		name   string
		change func(*xdsconfig.Cluster)
		kept   bool
	}{
		{"nothing changes", func(*xdsconfig.Cluster) {}, true},
		{"another endpoint", func(c *xdsconfig.Cluster) { c.Localities[0].Endpoints[1] = endpoint.New("c") }, true},
		{"another zone", func(c *xdsconfig.Cluster) { c.Localities[0].ID.Zone = "z" }, false},
		{"another service", func(c *xdsconfig.Cluster) { c.Update.Discovery = cluster.EDS{ServiceName: "other"} }, false},
		{"a hostname", func(c *xdsconfig.Cluster) { c.Localities[0].Endpoints[0].Details = &endpoint.Details{Hostname: "h"} }, false},
		{"outlier detection", func(c *xdsconfig.Cluster) {
			c.Update.OutlierDetection = &cluster.OutlierDetection{Interval: time.Hour, FailurePercentage: cluster.FailurePercentage{Enforcement: 1}}
		}, false},
		{"load reports with metrics", func(c *xdsconfig.Cluster) { c.Update.ReportMetrics.CPU = true }, false},
	} {
		plain, changed := leafConfig(cluster.EDS{}, "a", "b"), leafConfig(cluster.EDS{}, "a", "b")
		step.change(&changed)
		var before *account
		s.do(func() { s.cluster.Update(plain) })
		s.do(func() { before = s.cluster.conn.account("a") })
		for _, config := range []xdsconfig.Cluster{changed, plain} {
			s.do(func() { s.cluster.Update(config) })
			s.do(func() {
				next := s.cluster.conn.account("a")
				if (next == before) != step.kept || next.calls != before.calls {
					t.Errorf("%s: the account is kept %t, want %t, with its count", step.name, next == before, step.kept)
				}
				u, l := config.Update, config.Localities[0]
				if len(next.authority.Get(":authority")) != len(l.Endpoints[0].Hostname()) || (next.outlier != nil) != (u.OutlierDetection != nil) ||
					next.breaker != s.cluster.breaker || next.metrics != u.ReportMetrics.CPU || !maps.Equal(next.labels, labels.OfEndpoint("c", l.ID)) {
					t.Errorf("%s: the account is %+v", step.name, next)
				}
				before = next
			})
		}
	}
}
