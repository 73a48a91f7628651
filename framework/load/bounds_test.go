package load

import (
	"context"
	"strconv"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/proto"
)

func TestNamesOfOthersAreBounded(t *testing.T) {
	s := NewStore(nil)
	c := s.Cluster("c\xff", "")
	l := c.Locality(LocalityID{Zone: "\xff"}, Propagation{AllNamed: true})
	l.CallStarted()
	for i := range 2 * maxNamed {
		l.CallFinished(nil, &Metrics{Named: map[string]float64{strconv.Itoa(i): 1}})
		c.Drop("\xff" + strconv.Itoa(i))
	}
	got := commit(s)[0]
	if n := len(got.GetUpstreamLocalityStats()[0].GetLoadMetricStats()); n != maxNamed {
		t.Errorf("%d named metrics; must be %d", n, maxNamed)
	}
	if n, total := len(got.GetDroppedRequests()), got.GetTotalDroppedRequests(); n != maxCategories || total != 2*maxNamed {
		t.Errorf("%d categories of %d drops; must be %d of %d", n, total, maxCategories, 2*maxNamed)
	}
	if n := got.GetUpstreamLocalityStats()[0].GetTotalRequestsInProgress(); n != 0 {
		t.Errorf("%d calls in progress although more have finished than started", n)
	}
	if _, err := proto.Marshal(got); err != nil {
		t.Errorf("the report cannot be sent: %v", err)
	}
}

// encoded encodes a report as a message.
func encoded(stats []*endpointv3.ClusterStats) ([]byte, error) {
	return proto.Marshal(&loadstatsv3.LoadStatsRequest{ClusterStats: stats})
}

func TestSplit(t *testing.T) {
	s := NewStore(nil)
	for i := range 10 {
		s.Cluster(strconv.Itoa(i), "").Drop("")
	}
	s.Cluster("silent", "")
	whole := s.Delta(everything, time.Now())
	msg, err := encoded(whole.Stats)
	if err != nil {
		t.Fatal(err)
	}
	limit := len(msg) / 2
	parts := whole.Split(limit)
	if len(parts) < 2 {
		t.Fatalf("%d parts of %d bytes", len(parts), len(msg))
	}
	n := 0
	for i, p := range parts {
		msg, err := encoded(p.Stats)
		if err != nil || len(msg) > limit || len(p.Stats) == 0 {
			t.Errorf("part %d: %d clusters, %d bytes, %v", i, len(p.Stats), len(msg), err)
		}
		if n += len(p.Stats); i > 0 {
			p.Commit()
		}
	}
	if n != 10 || len(whole.Split(1)) != 10 || len(whole.Split(1<<20)) != 1 {
		t.Errorf("%d clusters in parts; must be 10, also one by one", n)
	}
	// Only committed reports count as reported.
	if got, want := len(commit(s)), len(parts[0].Stats); got != want {
		t.Errorf("%d clusters are left to report; must be %d", got, want)
	}
}

func TestClustersOutOfUseAreBounded(t *testing.T) {
	s := NewStore(nil)
	used := s.Cluster("used", "")
	for i := range 3 * minRoom {
		c := s.Cluster(strconv.Itoa(i), "")
		c.Drop("")
		c.Release()
	}
	used.Drop("")
	got := commit(s)
	if len(got) > minRoom || got[len(got)-1].GetClusterName() != "used" {
		t.Errorf("%d clusters, the last is %v; must be at most %d, and those in use", len(got), got[len(got)-1], minRoom)
	}
}

// A list of any length becomes a set that reports share.
func TestListsOfClustersAreShared(t *testing.T) {
	const listed = 1 << 20
	in := ClusterFilter{Clusters: make(map[string]struct{}, listed)}
	for i := range listed {
		in.Clusters[strconv.Itoa(i)] = struct{}{}
	}
	s := NewStore(nil)
	for i := range 2000 {
		s.Cluster(strconv.Itoa(i*1000), "").Drop("")
	}
	delta := s.Delta(in, time.Now())
	if want := listed/1000 + 1; len(delta.Stats) != want {
		t.Errorf("%d clusters are reported; want the %d that are listed", len(delta.Stats), want)
	}
	many := testing.AllocsPerRun(3, func() { s.Delta(in, time.Now()) })
	few := ClusterFilter{Clusters: make(map[string]struct{})}
	for _, stats := range delta.Stats {
		few.Clusters[stats.GetClusterName()] = struct{}{}
	}
	if alone := testing.AllocsPerRun(3, func() { s.Delta(few, time.Now()) }); many > alone+10 {
		t.Errorf("Delta allocates %v times with a long list, and %v times with a list of the store's clusters", many, alone)
	}
}

// Counting a call does not wait for a report.
func TestCountingDoesNotWaitForReports(t *testing.T) {
	s := NewStore(nil)
	c := s.Cluster("c", "")
	l := c.Locality(LocalityID{}, Propagation{AllNamed: true})
	s.mu.Lock() // as Delta, Commit, Empty and Forget do
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Drop("")
		c.Drop("a new category")
		l.CallStarted()
		l.CallFinished(nil, &Metrics{CPU: 1, Named: map[string]float64{"m": 1}})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-done:
		s.mu.Unlock()
	case <-ctx.Done():
		s.mu.Unlock()
		t.Fatal("a call waits for the store")
	}
	if got := commit(s)[0]; got.GetTotalDroppedRequests() != 2 || len(got.GetUpstreamLocalityStats()) != 1 {
		t.Errorf("reported is %v; want two drops and a locality", got)
	}
}
