package serve_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/serve"
)

func clusterLoad(name string, ok, failed, dropped uint64) *endpointv3.ClusterStats {
	return &endpointv3.ClusterStats{
		ClusterName: name, TotalDroppedRequests: dropped,
		UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{{TotalIssuedRequests: ok + failed, TotalSuccessfulRequests: ok, TotalErrorRequests: failed}},
	}
}

func (b *bench) report(n *corev3.Node, reports ...*endpointv3.ClusterStats) (loadstatsv3.LoadReportingService_StreamLoadStatsClient, *loadstatsv3.LoadStatsResponse) {
	b.t.Helper()
	s, err := loadstatsv3.NewLoadReportingServiceClient(b.dial("")).StreamLoadStats(b.t.Context())
	if err == nil {
		err = s.Send(&loadstatsv3.LoadStatsRequest{Node: n, ClusterStats: reports})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := s.Recv()
	if err != nil {
		b.t.Fatal(err)
	}
	return s, r
}

// Reports of several clients arrive at the program, and add up.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		b := newBench(t, nil, serve.WithLoad(7*time.Second, func(r serve.LoadReport) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(r.Node.GetId(), " ", r.Clusters[0].GetClusterName()))
		}), serve.WithLimits(serve.Limits{LoadClusters: 2}))
		all := &corev3.Node{Id: "one", ClientFeatures: []string{"envoy.lrs.supports_send_all_clusters"}}
		one, r := b.report(all)
		if !r.GetSendAllClusters() || r.GetLoadReportingInterval().AsDuration() != 7*time.Second || r.GetClusters() != nil {
			t.Errorf("response %v, want all clusters every 7s", r)
		}
		_, r = b.report(node("two"), clusterLoad("a", 1, 1, 1))
		if r.GetSendAllClusters() || !slices.Equal(r.GetClusters(), []string{"a"}) {
			t.Errorf("response %v, want the cluster of the report", r)
		}
		for _, c := range []*endpointv3.ClusterStats{clusterLoad("a", 10, 2, 3), clusterLoad("b", 5, 0, 0), clusterLoad("c", 4, 0, 0), clusterLoad("d", 3, 0, 0)} {
			if err := one.Send(&loadstatsv3.LoadStatsRequest{ClusterStats: []*endpointv3.ClusterStats{c}}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		want := []serve.LoadTotal{
			{Started: 7, Succeeded: 7},
			{Cluster: "a", Started: 14, Succeeded: 11, Failed: 3, Dropped: 4},
			{Cluster: "b", Started: 5, Succeeded: 5},
		}
		if totals := b.server.Load(); !slices.Equal(totals, want) {
			t.Errorf("totals %+v, want %+v", totals, want)
		}
		if text := strings.Join(got, ", "); text != "two a, one a, one b, one c, one d" {
			t.Errorf("reports %s", text)
		}
	})
}

// A report with too many clusters ends its stream, and counts for nothing. So does a flood of reports.
func TestHostileReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithLoad(time.Second, nil), serve.WithLimits(serve.Limits{LoadClusters: 2}))
		s, _ := b.report(node("n"))
		if err := s.Send(&loadstatsv3.LoadStatsRequest{ClusterStats: []*endpointv3.ClusterStats{clusterLoad("a", 1, 0, 0), clusterLoad("b", 1, 0, 0), clusterLoad("c", 1, 0, 0)}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "Limits.LoadClusters") {
			t.Errorf("the stream ends with %v, want RESOURCE_EXHAUSTED about LoadClusters", err)
		}
		if totals := b.server.Load(); len(totals) != 0 {
			t.Errorf("totals %+v, want none", totals)
		}
		for _, c := range []*endpointv3.ClusterStats{clusterLoad(strings.Repeat("x", 8193), 1, 0, 0), {ClusterServiceName: strings.Repeat("x", 8193)}} {
			s, _ = b.report(node("n"))
			if err := s.Send(&loadstatsv3.LoadStatsRequest{ClusterStats: []*endpointv3.ClusterStats{c}}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recv(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "Limits.NameBytes") {
				t.Errorf("a long name ends the stream with %v, want RESOURCE_EXHAUSTED about NameBytes", err)
			}
		}
		if totals := b.server.Load(); len(totals) != 0 {
			t.Errorf("totals %+v, want none", totals)
		}
		s, _ = b.report(node("n"))
		for s.Send(&loadstatsv3.LoadStatsRequest{}) == nil {
		}
		if _, err := s.Recv(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "Limits.Requests") {
			t.Errorf("the flood ends with %v, want RESOURCE_EXHAUSTED about Requests", err)
		}
	})
}

// Draining ends load reports, too.
func TestDrainLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithLoad(time.Second, nil))
		s, _ := b.report(node("n"))
		if err := b.server.Drain(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "draining") {
			t.Errorf("the stream ends with %v, want UNAVAILABLE about draining", err)
		}
	})
}
