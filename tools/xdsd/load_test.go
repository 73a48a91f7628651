package xdsd

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A daemon with -load asks clients for their load. A relay reports it to its control plane, which is a daemon, too.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "c.yaml", clusterYAML("checkout", "ROUND_ROBIN"))
	first := start(t, "-load", "1s", dir)
	upstream := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(upstream, []byte(first.bootstrap()), 0o600); err != nil {
		t.Fatal(err)
	}
	relay := start(t, "-load", "2s", "-upstream", upstream)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, err := cluster.Get(ctx, relay.client(t), "checkout"); err != nil { // the relay uses its control plane
		t.Fatal(err)
	}
	cc, err := grpc.NewClient("passthrough:///"+relay.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cc.Close() }()
	s, err := loadstatsv3.NewLoadReportingServiceClient(cc).StreamLoadStats(ctx)
	if err == nil {
		err = s.Send(&loadstatsv3.LoadStatsRequest{Node: &corev3.Node{Id: "n"}, ClusterStats: []*endpointv3.ClusterStats{{
			ClusterName: "checkout", UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{{TotalIssuedRequests: 7}},
		}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Recv()
	if err != nil || r.GetLoadReportingInterval().AsDuration() != 2*time.Second {
		t.Fatalf("the relay answers %v, %v; want an interval of 2s", r, err)
	}
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for started := uint64(0); started != 7; {
		select {
		case <-ticks.C:
			started = startedCalls(ctx, t, first)
		case <-ctx.Done():
			t.Fatalf("%d calls arrive at the control plane, want 7", started)
		}
	}
}

// startedCalls returns the calls of the cluster checkout by the status page.
func startedCalls(ctx context.Context, t *testing.T, d *daemon) uint64 {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(d.status, "status"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var page struct {
		Load []struct {
			Cluster string
			Started uint64
		} `json:"load"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	for _, l := range page.Load {
		if l.Cluster == "checkout" {
			return l.Started
		}
	}
	return 0
}
