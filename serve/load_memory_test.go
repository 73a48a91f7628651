package serve_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/serve"
)

// A stream of load reports keeps neither a decoded report nor a decoded node while it waits for the next report.
func TestDecodedReportsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var clusters []weak.Pointer[endpointv3.ClusterStats]
		var nodes []weak.Pointer[corev3.Node]
		var ids []string
		b := newBench(t, nil, serve.WithLoad(time.Second, func(r serve.LoadReport) {
			mu.Lock()
			defer mu.Unlock()
			clusters, nodes = append(clusters, weak.Make(r.Clusters[0])), append(nodes, weak.Make(r.Node))
			ids = append(ids, r.Node.GetId())
		}))
		s, _ := b.report(&corev3.Node{Id: "one"}, clusterLoad("a", 1, 0, 0))
		reportLoad(t, s, clusterLoad("b", 1, 0, 0)) // has no node
		runtime.GC()
		runtime.GC()
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(ids, " "); got != "one one" {
			t.Errorf("the reports have the nodes %q, want that of the first one in both", got)
		}
		for i := range clusters {
			if clusters[i].Value() != nil || nodes[i].Value() != nil {
				t.Errorf("the stream keeps report %d: its cluster %v, its node %v", i+1, clusters[i].Value(), nodes[i].Value())
			}
		}
	})
}

// The nodes of load reports are charged to their client until their streams end.
func TestNodesOfReportsAreCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithLoad(time.Second, nil), serve.WithLimits(serve.Limits{ClientBytes: 2500}))
		large := &corev3.Node{Id: strings.Repeat("x", 1000)}
		for range 3 { // the streams give back their bytes
			one, _ := b.report(large)
			two, _ := b.report(large)
			three, err := loadstatsv3.NewLoadReportingServiceClient(b.dial("")).StreamLoadStats(t.Context())
			if err == nil {
				err = three.Send(&loadstatsv3.LoadStatsRequest{Node: large})
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := three.Recv(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "Limits.ClientBytes") {
				t.Errorf("the third stream ends with %v, want the limit of the client", err)
			}
			for _, s := range []loadstatsv3.LoadReportingService_StreamLoadStatsClient{one, two} {
				if err := s.CloseSend(); err != nil {
					t.Fatal(err)
				}
			}
			pass(time.Second)
		}
	})
}

// The answers to first reports, which have the names of clusters, are charged until the client reports again.
func TestAnswersToReportsAreCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithLoad(time.Second, nil), serve.WithLimits(serve.Limits{ClientBytes: 3000}))
		name := strings.Repeat("c", 1000)
		one, _ := b.report(nil, clusterLoad(name, 1, 0, 0))
		second := func() error {
			s, err := loadstatsv3.NewLoadReportingServiceClient(b.dial("")).StreamLoadStats(t.Context())
			if err == nil {
				err = s.Send(&loadstatsv3.LoadStatsRequest{ClusterStats: []*endpointv3.ClusterStats{clusterLoad(name, 1, 0, 0)}})
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err = s.Recv(); err == nil {
				err = s.CloseSend()
			}
			pass(time.Second)
			return err
		}
		if err := second(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "Limits.ClientBytes") {
			t.Errorf("a second stream ends with %v, want the limit of the client", err)
		}
		reportLoad(t, one, clusterLoad(name, 1, 0, 0))
		for range 2 {
			if err := second(); err != nil {
				t.Errorf("a second stream ends with %v, although the client has read the first answer", err)
			}
		}
	})
}
