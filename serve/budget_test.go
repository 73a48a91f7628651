package serve_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/testca"
	"github.com/xdsforge/xdsforge/serve"
)

// reporter opens a stream of load reports of a client with a certificate.
func (b *bench) reporter(name string) loadstatsv3.LoadReportingService_StreamLoadStatsClient {
	b.t.Helper()
	s, err := loadstatsv3.NewLoadReportingServiceClient(b.dial("spiffe://example.com/" + name)).StreamLoadStats(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func reportLoad(t *testing.T, s loadstatsv3.LoadReportingService_StreamLoadStatsClient, reports ...*endpointv3.ClusterStats) {
	t.Helper()
	if err := s.Send(&loadstatsv3.LoadStatsRequest{ClusterStats: reports}); err != nil {
		t.Fatal(err)
	}
	pass(time.Second)
}

func (b *bench) expectLoad(event string, want ...serve.LoadTotal) {
	b.t.Helper()
	if got := b.server.Load(); !slices.Equal(got, want) {
		b.t.Errorf("%s: totals %+v, want %+v", event, got, want)
	}
}

// The names of a client count against that client, and never displace those of others. A name without reports is forgotten.
// Sums do not wrap.
func TestLoadTotalsByClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, err := testca.New("ca")
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, ca, serve.WithLoad(time.Second, nil), serve.WithLimits(serve.Limits{LoadClusters: 2, TotalBytes: 1000}))
		good, evil := b.reporter("good"), b.reporter("evil")
		most := &endpointv3.ClusterStats{ClusterName: "a", TotalDroppedRequests: math.MaxUint64, UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{
			{TotalIssuedRequests: math.MaxUint64, TotalSuccessfulRequests: math.MaxUint64, TotalErrorRequests: math.MaxUint64}, {TotalIssuedRequests: 1},
		}}
		reportLoad(t, evil, most, clusterLoad("b", 1, 0, 0))
		reportLoad(t, evil, most, clusterLoad("c", 1, 0, 0))
		reportLoad(t, good, clusterLoad("shop", 5, 0, 0), clusterLoad("b", 2, 0, 0))
		full := serve.LoadTotal{Cluster: "a", Started: math.MaxUint64, Succeeded: math.MaxUint64, Failed: math.MaxUint64, Dropped: math.MaxUint64}
		b.expectLoad("beyond the limit of one client", serve.LoadTotal{Started: 1, Succeeded: 1}, full,
			serve.LoadTotal{Cluster: "b", Started: 3, Succeeded: 3}, serve.LoadTotal{Cluster: "shop", Started: 5, Succeeded: 5})

		for range 3 { // shop and b have reports all the time
			pass(30 * time.Minute)
			reportLoad(t, good, clusterLoad("shop", 1, 0, 0), clusterLoad("b", 1, 0, 0))
		}
		reportLoad(t, evil, clusterLoad("d", 1, 0, 0), clusterLoad("e", 1, 0, 0))
		full.Cluster = ""
		b.expectLoad("after an hour without reports", full, serve.LoadTotal{Cluster: "b", Started: 6, Succeeded: 6},
			serve.LoadTotal{Cluster: "d", Started: 1, Succeeded: 1}, serve.LoadTotal{Cluster: "shop", Started: 8, Succeeded: 8})

		pass(3 * time.Hour)
		reportLoad(t, evil, clusterLoad(strings.Repeat("x", 900), 1, 0, 0), clusterLoad(strings.Repeat("y", 900), 1, 0, 0))
		if got := b.server.Load(); len(got) != 2 {
			t.Errorf("%d totals with names of 1800 bytes, want one and the rest", len(got))
		}
	})
}

// Ten thousand rejections of a client with different texts are few lines. The rejections of another client are logged.
func TestLogByClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		ca, err := testca.New("ca")
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, ca, serve.WithLogger(slog.New(slog.NewTextHandler(&lines, nil))))
		b.put(b.main, "a", "one")
		reject := func(client string, n int, text string) {
			s := b.delta(b.dial("spiffe://example.com/" + client))
			if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a"}}); err != nil {
				t.Fatal(err)
			}
			r, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{
					TypeUrl: clusterURL, ResponseNonce: r.GetNonce(), ErrorDetail: status.New(codes.InvalidArgument, fmt.Sprint(text, i)).Proto(),
				}); err != nil {
					t.Fatal(err)
				}
			}
			pass(time.Second)
		}
		reject("evil", 9000, "evil ")
		if n := bytes.Count(lines.Bytes(), []byte("\n")); n > 20 {
			t.Errorf("9,000 rejections of a client are %d lines, want at most 20", n)
		}
		if n := strings.Count(lines.String(), `msg="further rejections of a client are not logged" client=spiffe://example.com/evil`); n != 1 {
			t.Errorf("%d lines say that rejections are not logged, want 1", n)
		}
		lines.Reset()
		reject("good", 1, "good ")
		if !strings.Contains(lines.String(), "good 0") {
			t.Errorf("the rejection of another client is not logged: %q", lines.String())
		}
		pass(time.Hour)
		lines.Reset()
		reject("evil", 1, "later ")
		if !strings.Contains(lines.String(), "later 0") {
			t.Errorf("after an hour, a rejection is not logged: %q", lines.String())
		}
	})
}

// A stream without a first request ends, whether of resources or of load reports. One with a request stays.
func TestFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{0, time.Minute} {
			b := newBench(t, nil, serve.WithLoad(time.Second, nil), serve.WithLimits(serve.Limits{FirstRequest: limit}))
			busy, _ := b.report(node("n"))
			subscribed := b.open("a")
			for kind, s := range map[string]grpc.ClientStream{"resources": b.delta(b.dial("")), "load": b.reporter("x")} {
				start := time.Now()
				err := s.RecvMsg(new(discoveryv3.DeltaDiscoveryResponse))
				if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "Limits.FirstRequest") {
					t.Errorf("a stream of %s without a request ends with %v, want RESOURCE_EXHAUSTED about FirstRequest", kind, err)
				}
				if took, want := time.Since(start), max(limit, 10*time.Second); took > want {
					t.Errorf("a stream of %s without a request ends after %v, want %v", kind, took, want)
				}
			}
			pass(time.Hour)
			b.put(b.main, "a", "one")
			if _, err := subscribed.Recv(); err != nil {
				t.Errorf("a stream with a request ends: %v", err)
			}
			if err := busy.Send(&loadstatsv3.LoadStatsRequest{}); err != nil {
				t.Errorf("a stream of load reports ends: %v", err)
			}
			b.stop()
		}
	})
}

// Messages that would become large in memory end their streams before they are decoded.
func TestLoadIsBoundedBeforeDecoding(t *testing.T) {
	many := func(n int) *endpointv3.ClusterStats {
		c := &endpointv3.ClusterStats{ClusterName: "c"}
		for range n {
			c.UpstreamLocalityStats = append(c.UpstreamLocalityStats, new(endpointv3.UpstreamLocalityStats))
		}
		return c
	}
	large := &corev3.Node{Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(strings.Repeat("x", 300<<10))}}}
	for want, r := range map[string]*loadstatsv3.LoadStatsRequest{
		"Limits.LoadElements": {ClusterStats: []*endpointv3.ClusterStats{many(60_000), many(60_000)}},
		"Limits.NodeBytes":    {Node: large},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, nil, serve.WithLoad(time.Second, nil))
			s := b.reporter("n")
			if err := s.Send(r); err != nil {
				t.Fatal(err)
			}
			expectEnd(t, s, want)
		})
	}
}

// A node that the server decodes for WithViews has a limit, too.
func TestNodeForViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pick := func(*corev3.Node) string { return "" }
		b := newBench(t, nil, serve.WithViews(pick, map[string]source.Source{"v": source.NewMemory()}), serve.WithLimits(serve.Limits{NodeBytes: 100}))
		s := b.delta(b.dial(""))
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: strings.Repeat("x", 100)}, TypeUrl: clusterURL}); err != nil {
			t.Fatal(err)
		}
		expectEnd(t, s, "Limits.NodeBytes")
	})
}
