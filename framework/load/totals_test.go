package load

import (
	"errors"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

// Totals count from the start of a cluster, whether or not its load was reported. A cluster without users has none
// after its last report.
func TestTotals(t *testing.T) {
	s := NewStore(nil)
	b, a := s.Cluster("b", ""), s.Cluster("a", "service")
	id := LocalityID{Region: "east"}
	l := a.Locality(id, Propagation{})
	call := func(err error) {
		l.CallStarted()
		l.CallFinished(err, nil)
	}
	call(nil)
	call(errors.New("failed"))
	l.CallStarted()
	b.Drop("lost")
	b.Drop("")
	locality := &endpointv3.UpstreamLocalityStats{
		Locality: &corev3.Locality{Region: "east"}, TotalIssuedRequests: 3, TotalSuccessfulRequests: 1, TotalErrorRequests: 1, TotalRequestsInProgress: 1,
	}
	want := []*endpointv3.ClusterStats{
		{ClusterName: "a", ClusterServiceName: "service", UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{locality}},
		{ClusterName: "b", TotalDroppedRequests: 2, DroppedRequests: []*endpointv3.ClusterStats_DroppedRequests{{Category: "lost", DroppedCount: 1}}},
	}
	expect := func() {
		t.Helper()
		if diff := cmp.Diff(want, s.Totals(), protocmp.Transform()); diff != "" {
			t.Errorf("totals, - want, + got:\n%s", diff)
		}
	}
	expect()
	s.Delta(ClusterFilter{All: true}, time.Now()).Commit()
	expect()
	call(nil)
	locality.TotalIssuedRequests, locality.TotalSuccessfulRequests = 4, 2
	b.Release()
	s.Delta(ClusterFilter{All: true}, time.Now()).Commit()
	want = want[:1]
	expect()
}
