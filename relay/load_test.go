package relay_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/relay"
	"github.com/xdsforge/xdsforge/serve"
)

// host serves a source at an address in memory.
func host(t *testing.T, types *resource.Set, src source.Source, f func(serve.LoadReport)) (dial grpc.DialOption, s *serve.Server) {
	t.Helper()
	s, err := serve.New(types, map[string]source.Source{"": src}, serve.WithLoad(time.Second, f))
	if err != nil {
		t.Fatal(err)
	}
	lis, g := bufconn.Listen(1<<20), grpc.NewServer(serve.ServerOptions()...)
	s.Register(g)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(lis) }()
	t.Cleanup(func() {
		g.Stop()
		<-done
		_ = s.Close()
	})
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }), s
}

func clientOf(t *testing.T, types *resource.Set, dial grpc.DialOption) *xdsforge.Client {
	t.Helper()
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "passthrough:///x", "channel_creds": [{"type": "insecure"}]}], "node": {"id": "relay"}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypeSet(types), xdsforge.WithTransport(grpctransport.New(grpctransport.WithDialOptions(dial))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A reporter is a downstream client that reports load.
type reporter struct {
	stream loadstatsv3.LoadReportingService_StreamLoadStatsClient
	cc     *grpc.ClientConn
}

func newReporter(t *testing.T, dial grpc.DialOption) *reporter {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///", dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	s, err := loadstatsv3.NewLoadReportingServiceClient(cc).StreamLoadStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &reporter{s, cc}
}

func (r *reporter) send(t *testing.T, name string, ok, running uint64, drops ...*endpointv3.ClusterStats_DroppedRequests) {
	t.Helper()
	total := uint64(0)
	for _, d := range drops {
		total += d.GetDroppedCount()
	}
	if err := r.stream.Send(&loadstatsv3.LoadStatsRequest{ClusterStats: []*endpointv3.ClusterStats{{
		ClusterName: name, TotalDroppedRequests: total, DroppedRequests: drops,
		UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{{
			Locality: &corev3.Locality{Zone: "z"}, TotalIssuedRequests: ok + running, TotalSuccessfulRequests: ok, TotalRequestsInProgress: running,
		}},
	}}}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// Load reports of downstream clients are summed, and sent upstream by the client of the relay. Calls in progress of a
// client that is gone do not stay.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registry.New()
		standard.Register(reg)
		types, err := reg.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		nodes, last := make(map[string]bool), make(map[string]*endpointv3.ClusterStats)
		upstream, control := host(t, types, source.NewMemory(), func(r serve.LoadReport) {
			mu.Lock()
			defer mu.Unlock()
			nodes[r.Node.GetId()] = true
			for _, c := range r.Clusters {
				last[c.GetClusterName()] = c
			}
		})
		r, err := relay.New(clientOf(t, types, upstream))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		down, _ := host(t, types, r, r.AddLoad)
		one, two := newReporter(t, down), newReporter(t, down)
		one.send(t, "a", 9, 0)
		if n := r.Status().UnreportedLoad; n != 1 {
			t.Errorf("load of %d clusters is not reported while no server is in use, want that of one", n)
		}
		watch, stop := context.WithCancel(t.Context())
		go func() {
			for range cluster.Watch(watch, clientOf(t, types, down), "a") {
				continue
			}
		}()
		pass(time.Second)
		drop := func(category string, n uint64) *endpointv3.ClusterStats_DroppedRequests {
			return &endpointv3.ClusterStats_DroppedRequests{Category: category, DroppedCount: n}
		}
		one.send(t, "a", 10, 3, drop("x", 2))
		two.send(t, "a", 20, 1, drop("x", 3), drop("y", 1))
		two.send(t, "b", 5, 0)
		pass(10 * time.Second)
		totals := control.Load()
		want := []serve.LoadTotal{{Cluster: "a", Started: 34, Succeeded: 30, Dropped: 6}, {Cluster: "b", Started: 5, Succeeded: 5}}
		if len(totals) != 2 || totals[0] != want[0] || totals[1] != want[1] {
			t.Errorf("upstream has the totals %+v, want %+v", totals, want)
		}
		running := func() uint64 {
			mu.Lock()
			defer mu.Unlock()
			if list := last["a"].GetUpstreamLocalityStats(); len(list) == 1 && list[0].GetLocality().GetZone() == "z" {
				return list[0].GetTotalRequestsInProgress()
			}
			return 0
		}
		if n := running(); n != 4 {
			t.Errorf("upstream learns of %d calls in progress, want 4", n)
		}
		_ = one.cc.Close()
		two.send(t, "a", 1, 1)
		pass(10 * time.Second)
		if n := running(); n != 1 {
			t.Errorf("upstream learns of %d calls in progress after the end of a client, want 1", n)
		}
		if len(nodes) != 1 || !nodes["relay"] {
			t.Errorf("upstream gets reports of the nodes %v, want only the relay", nodes)
		}
		stop()
	})
}

// All streams of a client share its limits, so that a hostile client fills the reports with at most 10,000 names. Those of
// other clients are reported. A client without streams is forgotten.
func TestLoadIsBoundedByClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registry.New()
		standard.Register(reg)
		types, err := reg.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		reported := make(map[string]bool)
		upstream, _ := host(t, types, source.NewMemory(), func(r serve.LoadReport) {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range r.Clusters {
				reported[c.GetClusterName()] = true
			}
		})
		r, err := relay.New(clientOf(t, types, upstream))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		down, _ := host(t, types, r, r.AddLoad)
		go func() {
			for range cluster.Watch(t.Context(), clientOf(t, types, down), "a") {
				continue
			}
		}()
		pass(time.Second)
		add := func(client, name string, n int) (end func()) {
			stream, end := context.WithCancel(t.Context())
			x := serve.LoadReport{Client: client, Stream: stream}
			for i := range n {
				x.Clusters = append(x.Clusters, &endpointv3.ClusterStats{ClusterName: fmt.Sprint(name, i), TotalDroppedRequests: 1})
			}
			r.AddLoad(x)
			pass(10 * time.Second)
			return end
		}
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(reported)
		}
		first := add("evil", "x", 6000)
		second := add("evil", "y", 6000)
		if n := count(); n != 10_000 {
			t.Errorf("two streams of a client add %d names, want 10000", n)
		}
		add("good", "z", 5)
		if n := count(); n != 10_005 {
			t.Errorf("with 5 names of another client, %d are reported, want 10005", n)
		}
		first()
		second()
		synctest.Wait()
		add("evil", "w", 10)
		if n := count(); n != 10_015 {
			t.Errorf("a client that comes again adds %d names, want 10", n-10_005)
		}
	})
}
