package clustermanager_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	v3orca "github.com/cncf/xds/go/xds/data/orca/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A ledger has the load counters of one server.
type ledger struct {
	store *load.Store
	want  *bootstrap.Server
	mu    sync.Mutex
	asked int
}

func (l *ledger) LoadStore(s *bootstrap.Server) (*load.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if !s.Equal(l.want) {
		return nil, load.ErrServerNotInBootstrap
	}
	return l.store, nil
}

// report returns the load of the cluster since the last report, or nil if there is none.
func (l *ledger) report() *endpointv3.ClusterStats {
	delta := l.store.Delta(load.ClusterFilter{All: true}, time.Now())
	delta.Commit()
	for _, s := range delta.Stats {
		return s
	}
	return nil
}

func server(t *testing.T, uri string) *bootstrap.Server {
	t.Helper()
	s, err := bootstrap.ParseServer(fmt.Appendf(nil, `{"server_uri":%q,"channel_creds":[{"type":"insecure"}]}`, uri))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The share of dropped calls is within six standard deviations of the configured share.
func TestDrops(t *testing.T) {
	b := startAll(t, 1)
	w := newWorld(t)
	l := &ledger{store: load.NewStore(nil), want: server(t, "lrs")}
	w.state.Loads = l
	c := eds(roundRobin, locality("x", 0, 1, b[0]))
	c.Update.LoadReports = l.want
	w.one(c)
	w.to("c")
	c.Drops = []endpoint.Drop{{Category: "half", PerMillion: 500_000}, {Category: "throttle", PerMillion: 200_000}}
	w.one(c)
	l.report()

	const n = 4000
	dropped := 0
	for range n {
		_, err := w.call(t.Context(), lbtree.Call{Cluster: "c"}, grpc.WaitForReady(true))
		if err == nil {
			continue
		}
		dropped++
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "dropped") {
			t.Fatalf("a dropped call: %v", err)
		}
	}
	// The second category applies to the calls that the first one did not drop.
	if want, tolerance := 0.6*n, 6*math.Sqrt(n*0.6*0.4); math.Abs(float64(dropped)-want) > tolerance {
		t.Errorf("%d of %d calls were dropped; want %v, give or take %v", dropped, n, want, tolerance)
	}
	stats := l.report()
	counts := make(map[string]float64)
	for _, d := range stats.GetDroppedRequests() {
		counts[d.GetCategory()] = float64(d.GetDroppedCount())
	}
	if int(counts["half"]+counts["throttle"]) != dropped || stats.GetTotalDroppedRequests() != uint64(dropped) {
		t.Errorf("%d calls were dropped, %v were reported", dropped, stats)
	}
	if want, tolerance := 0.5*n, 6*math.Sqrt(n*0.25); math.Abs(counts["half"]-want) > tolerance {
		t.Errorf("%v calls were dropped as half; want %v, give or take %v", counts["half"], want, tolerance)
	}
}

// The limit applies to the calls in flight of all channels that share breakers.
func TestCircuitBreaking(t *testing.T) {
	b := startAll(t, 1)
	l := &ledger{store: load.NewStore(nil), want: server(t, "lrs")}
	release := make(chan struct{})
	arrived := make(chan struct{}, 8)
	b[0].does(func(context.Context) error { arrived <- struct{}{}; <-release; return nil })
	var shared breaker.Set
	c := eds(roundRobin, locality("x", 0, 1, b[0]))
	c.Update.MaxRequests, c.Update.LoadReports = 3, l.want
	worlds := []*world{newWorld(t), newWorld(t), newWorld(t)}
	for i, w := range worlds {
		w.state.Loads = l
		if i < 2 { // the third channel has its own breakers
			w.state.Breakers = &shared
		}
		w.one(c)
	}
	ended := make(chan error, 4)
	begin := func(w *world) {
		go func() {
			_, err := w.call(context.WithoutCancel(t.Context()), lbtree.Call{Cluster: "c"})
			ended <- err
		}()
		<-arrived
	}
	begin(worlds[0])
	begin(worlds[0])
	begin(worlds[1])
	for _, w := range worlds[:2] {
		_, err := w.call(t.Context(), lbtree.Call{Cluster: "c"}, grpc.WaitForReady(true))
		var d interface{ Dropped() bool }
		if !errors.As(err, &d) || !d.Dropped() {
			t.Errorf("%v does not mark the call as dropped, so retries would repeat it", err)
		}
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "too many calls") {
			t.Errorf("a call beyond the limit: %v; must be UNAVAILABLE", err)
		}
	}
	begin(worlds[2])
	close(release)
	for range 4 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	worlds[0].to("c")
	if s := l.report(); s.GetTotalDroppedRequests() != 2 || len(s.GetDroppedRequests()) != 0 {
		t.Errorf("two calls were refused, of no category; reported was %v", s)
	}
}

// The report counts calls by locality, from start to end, with the metrics that the cluster
// configures.
func TestLoad(t *testing.T) {
	b := startAll(t, 2)
	w := newWorld(t)
	l := &ledger{store: load.NewStore(nil), want: server(t, "lrs")}
	w.state.Loads = l
	c := eds(ringHash, locality("x", 0, 1, b[0]), locality("y", 1, 1, b[1]))
	c.Update.LoadReports = l.want
	c.Update.ReportMetrics = cluster.MetricPropagation{CPU: true, Named: []string{"a"}}
	w.one(c)
	arrived, release := make(chan struct{}), make(chan struct{})
	b[0].does(func(ctx context.Context) error {
		arrived <- struct{}{}
		<-release
		sent, err := proto.Marshal(&v3orca.OrcaLoadReport{CpuUtilization: 0.5, MemUtilization: 0.5, NamedMetrics: map[string]float64{"a": 2, "b": 3}})
		if err != nil {
			return err
		}
		return grpc.SetTrailer(ctx, metadata.Pairs("endpoint-load-metrics-bin", string(sent)))
	})
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := w.call(context.WithoutCancel(t.Context()), lbtree.Call{Cluster: "c", Hash: 1, HasHash: true})
			ended <- err
		}()
		<-arrived
	}
	during := l.report()
	if s := during.GetUpstreamLocalityStats(); len(s) != 1 || s[0].GetTotalIssuedRequests() != 2 || s[0].GetTotalRequestsInProgress() != 2 {
		t.Errorf("while two calls are in flight, reported is %v", during)
	}
	if during.GetClusterName() != "c" || during.GetClusterServiceName() != "service" {
		t.Errorf("the report is of %q, %q", during.GetClusterName(), during.GetClusterServiceName())
	}
	close(release)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	b[0].does(func(context.Context) error { return errors.New("no") })
	if _, err := w.call(t.Context(), lbtree.Call{Cluster: "c", Hash: 1, HasHash: true}); err == nil {
		t.Error("a call that fails succeeded")
	}
	after := l.report().GetUpstreamLocalityStats()
	if len(after) != 1 || after[0].GetLocality().GetRegion() != "x" || after[0].GetTotalSuccessfulRequests() != 2 ||
		after[0].GetTotalErrorRequests() != 1 || after[0].GetTotalIssuedRequests() != 1 {
		t.Fatalf("after the calls, reported is %v", after)
	}
	if m := after[0].GetCpuUtilization(); m.GetNumRequestsFinishedWithMetric() != 2 || m.GetTotalMetricValue() != 1 {
		t.Errorf("cpu_utilization is reported as %v", m)
	}
	if m := after[0].GetMemUtilization(); m != nil {
		t.Errorf("mem_utilization is reported as %v, though the cluster does not want it", m)
	}
	if m := after[0].GetLoadMetricStats(); len(m) != 1 || m[0].GetMetricName() != "named_metrics.a" || m[0].GetTotalMetricValue() != 4 {
		t.Errorf("named metrics are reported as %v", m)
	}
}

// A call counts as ended in the locality in which it began, whatever happens to the cluster.
func TestLoadGoesElsewhere(t *testing.T) {
	b := startAll(t, 1)
	w := newWorld(t)
	l := &ledger{store: load.NewStore(nil), want: server(t, "lrs")}
	w.state.Loads = l
	reported := eds(roundRobin, locality("x", 0, 1, b[0]))
	reported.Update.LoadReports = l.want
	w.one(reported)
	arrived, release := make(chan struct{}), make(chan struct{})
	b[0].does(func(context.Context) error { arrived <- struct{}{}; <-release; return nil })
	ended := make(chan error)
	go func() {
		_, err := w.call(context.WithoutCancel(t.Context()), lbtree.Call{Cluster: "c"})
		ended <- err
	}()
	<-arrived
	silent := eds(roundRobin, locality("x", 0, 1, b[0]))
	w.one(silent)
	elsewhere := eds(roundRobin, locality("x", 0, 1, b[0]))
	elsewhere.Update.LoadReports = server(t, "evil")
	w.one(elsewhere)
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	b[0].does(func(context.Context) error { return nil })
	w.to("c")
	s := l.report().GetUpstreamLocalityStats()
	if len(s) != 1 || s[0].GetTotalSuccessfulRequests() != 1 || s[0].GetTotalRequestsInProgress() != 0 || s[0].GetTotalIssuedRequests() != 1 {
		t.Errorf("reported is %v; must be the one call that began when load was reported", s)
	}
}

func TestAuthority(t *testing.T) {
	got := make(chan string, 1)
	b := start(t)
	b.does(func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		got <- strings.Join(md[":authority"], ",")
		return nil
	})
	for _, test := range []struct {
		hostname string
		call     lbtree.Call
		opts     []grpc.CallOption
		want     string
	}{
		{"host.example", lbtree.Call{AutoHostRewrite: true}, nil, "host.example"},
		{"host.example", lbtree.Call{}, nil, "test"},
		{"", lbtree.Call{AutoHostRewrite: true}, nil, "test"},
		{"host.example", lbtree.Call{AutoHostRewrite: true}, []grpc.CallOption{grpc.CallAuthority("mine")}, "mine"},
		{"host.example", lbtree.Call{Authority: metadata.Pairs(":authority", "proxy.example")}, nil, "proxy.example"},
		{"", lbtree.Call{Authority: metadata.Pairs(":authority", "proxy.example")}, nil, "proxy.example"},
		{"", lbtree.Call{Authority: metadata.Pairs(":authority", "proxy.example")}, []grpc.CallOption{grpc.CallAuthority("mine")}, "mine"},
	} {
		w := newWorld(t)
		l := locality("x", 0, 1, b)
		l.Endpoints[0].Details = &endpoint.Details{Hostname: test.hostname}
		w.one(eds(roundRobin, l))
		test.call.Cluster = "c"
		if _, err := w.call(t.Context(), test.call, test.opts...); err != nil {
			t.Fatal(err)
		}
		if a := <-got; a != test.want {
			t.Errorf("hostname %q, %+v: the authority is %q, want %q", test.hostname, test.call, a, test.want)
		}
	}
}

// A server that fails all calls is ejected for a while and then used again.
func TestOutlierDetection(t *testing.T) {
	for name, c := range map[string]xdsconfig.Cluster{"round_robin": eds(roundRobin), "ring_hash": eds(ringHash)} {
		t.Run(name, func(t *testing.T) {
			b := startAll(t, 3)
			w := newWorld(t)
			c.Localities = []endpoint.Locality{locality("x", 0, 1, b...)}
			ejectFor := func(limit time.Duration) {
				update := *c.Update
				update.OutlierDetection = &cluster.OutlierDetection{
					Interval: 100 * time.Millisecond, BaseEjectionTime: limit, MaxEjectionTime: limit, MaxEjectionPercent: 50,
					FailurePercentage: cluster.FailurePercentage{Enforcement: 100, Threshold: 50, MinimumHosts: 1, RequestVolume: 1},
				}
				c.Update = &update
				w.one(c)
			}
			ejectFor(time.Hour)
			b[1].does(func(context.Context) error { return status.Error(codes.Internal, "bad day") })
			i := uint64(0)
			call := func() (string, error) {
				i++
				return w.call(t.Context(), lbtree.Call{Cluster: "c", Hash: i * 0x9e3779b97f4a7c15, HasHash: true})
			}
			inARow := 0
			for deadline := time.Now().Add(time.Minute); inARow < 60; {
				if _, err := call(); err == nil {
					inARow++
				} else {
					inARow = 0
				}
				if time.Now().After(deadline) {
					t.Fatal("the server that fails is used all the time")
				}
			}
			b[1].does(func(context.Context) error { return nil })
			before := b[1].calls.Load()
			ejectFor(time.Millisecond)
			for deadline := time.Now().Add(time.Minute); b[1].calls.Load() == before; {
				if _, err := call(); err != nil {
					t.Fatal(err)
				}
				if time.Now().After(deadline) {
					t.Fatal("the server that is well again is not used")
				}
			}
		})
	}
}
