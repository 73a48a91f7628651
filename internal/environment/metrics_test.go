package environment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/internal/scrape"
	"github.com/xdsforge/xdsforge/internal/telemetry"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A metricWorld is an Env with metrics, and two control planes for old-style names.
type metricWorld struct {
	*testing.T
	env               *Env
	meter             *scrape.Meter
	primary, fallback *memoryads.Server
}

func newMetricWorld(t *testing.T, with ...func(*Settings)) *metricWorld {
	t.Helper()
	s := settings(t, "n")
	config, err := bootstrap.Parse([]byte(`{"node": {"id": "n"}, "xds_servers": [
		{"server_uri": "memory:1", "channel_creds": [{"type": "insecure"}]}, {"server_uri": "memory:2", "channel_creds": [{"type": "insecure"}]}],
		"authorities": {"east": {}, "": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	of := memoryads.Type{URL: cluster.Type().URL(), Complete: true}
	w := &metricWorld{T: t, meter: scrape.NewMeter(), primary: memoryads.NewServer(of), fallback: memoryads.NewServer(of)}
	s.Config, s.Transport = config, memoryads.Network{"memory:1": w.primary, "memory:2": w.fallback}
	if s.Metrics, err = telemetry.NewReader(w.meter); err != nil {
		t.Fatal(err)
	}
	for _, set := range with {
		set(&s)
	}
	w.env = newEnv(t, s)
	return w
}

// set gives a control plane clusters. A name that begins with "bad" is invalid.
func (w *metricWorld) set(s *memoryads.Server, names ...string) {
	w.Helper()
	var list []memoryads.Resource
	for _, name := range names {
		m := &clusterv3.Cluster{Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}}
		if !strings.HasPrefix(name, "bad") {
			m.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{}}}
		}
		body, err := proto.Marshal(m)
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, memoryads.Resource{Name: name, Body: body})
	}
	s.Set(cluster.Type().URL(), list...)
}

// watch watches clusters until the test ends.
func (w *metricWorld) watch(s *Scope, names ...string) {
	w.Helper()
	for _, name := range names {
		if _, err := cluster.Subscribe(s, name, func(cluster.Event) {}); err != nil {
			w.Fatal(err)
		}
	}
}

// expect waits for some time and compares the metrics with a prefix.
func (w *metricWorld) expect(after time.Duration, prefix string, want ...string) {
	w.Helper()
	<-time.NewTimer(after).C
	synctest.Wait()
	lines, err := w.meter.Lines(w.Context(), prefix)
	if err != nil {
		w.Fatal(err)
	}
	for i := range lines {
		lines[i] = strings.NewReplacer(prefix, "", "grpc.xds.", "", "grpc.", "", "resource_type=envoy.config.cluster.v3.Cluster", "CDS").Replace(lines[i])
	}
	if !slices.Equal(lines, want) {
		w.Errorf("metrics %s =\n%s\nwant\n%s", prefix, strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

const a78 = "grpc.xds_client."

// The metrics follow a client through each state of a resource and of a server (A78, A88).
func TestClientMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMetricWorld(t)
		w.expect(0, "")
		s := acquire(t, w.env, "xds:///web")
		w.expect(0, "") // the client connects to nothing yet
		w.watch(s, "a", "bad", "absent", "xdstp://east/envoy.config.cluster.v3.Cluster/late")
		<-time.NewTimer(time.Second).C // for all requests, so that one response has both resources
		synctest.Wait()
		w.set(w.primary, "a", "bad")
		w.expect(time.Second, a78,
			"connected{target=xds:///web,server=memory:1} 1",
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:1} 1",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:1} 1",
			"resources{target=xds:///web,authority=#old,cache_state=acked,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=nacked,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=requested,CDS} 1",
			"resources{target=xds:///web,authority=east,cache_state=requested,CDS} 1",
			"server_failure{target=xds:///web,server=memory:1} 0",
		)
		w.set(w.primary, "b")
		w.watch(s, "b")
		w.expect(time.Second, a78+"resource_updates",
			"_invalid{target=xds:///web,CDS,server=memory:1} 2",
			"_valid{target=xds:///web,CDS,server=memory:1} 3",
		)
		w.primary.Delete(cluster.Type().URL(), "a")
		w.expect(15*time.Second, a78, // A57: 15 s
			"connected{target=xds:///web,server=memory:1} 1",
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:1} 3",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:1} 4",
			"resources{target=xds:///web,authority=#old,cache_state=acked,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=does_not_exist,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=does_not_exist_but_cached,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=nacked,CDS} 1",
			"resources{target=xds:///web,authority=east,cache_state=does_not_exist,CDS} 1",
			"server_failure{target=xds:///web,server=memory:1} 0",
		)
		w.primary.Refuse(errors.New("refused"))
		w.primary.Disconnect(errors.New("cut"))
		w.expect(5*time.Second, a78,
			"connected{target=xds:///web,server=memory:1} 0",
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:1} 3",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:1} 4",
			"resources{target=xds:///web,authority=#old,cache_state=acked,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=does_not_exist,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=does_not_exist_but_cached,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=nacked,CDS} 1",
			"resources{target=xds:///web,authority=east,cache_state=does_not_exist,CDS} 1",
			"server_failure{target=xds:///web,server=memory:1} 1",
		)
		w.expect(0, "xdsforge.",
			"xds_client.fallback{target=xds:///web,authority=#old} 0",
			"xds_client.fallback{target=xds:///web,authority=east} 0",
		)
		w.watch(s, "new")
		w.expect(5*time.Second, a78,
			"connected{target=xds:///web,server=memory:1} 0",
			"connected{target=xds:///web,server=memory:2} 1",
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:1} 3",
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:2} 0",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:1} 4",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:2} 0",
			"resources{target=xds:///web,authority=#old,cache_state=acked,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=does_not_exist,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=does_not_exist_but_cached,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=nacked,CDS} 1",
			"resources{target=xds:///web,authority=#old,cache_state=requested,CDS} 1",
			"resources{target=xds:///web,authority=east,cache_state=does_not_exist,CDS} 1",
			"server_failure{target=xds:///web,server=memory:1} 1",
			"server_failure{target=xds:///web,server=memory:2} 0",
		)
		w.expect(0, "xdsforge.",
			"xds_client.fallback{target=xds:///web,authority=#old} 1",
			"xds_client.fallback{target=xds:///web,authority=east} 0",
		)
		_ = s.Release()
		w.expect(0, a78,
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:1} 3",
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:2} 0",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:1} 4",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:2} 0",
			"server_failure{target=xds:///web,server=memory:1} 1",
			"server_failure{target=xds:///web,server=memory:2} 0",
		)
		again := acquire(t, w.env, "xds:///web")
		w.primary.Refuse(nil)
		w.watch(again, "a")
		w.expect(time.Second, a78,
			"connected{target=xds:///web,server=memory:1} 1",
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:1} 3",
			"resource_updates_invalid{target=xds:///web,CDS,server=memory:2} 0",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:1} 4",
			"resource_updates_valid{target=xds:///web,CDS,server=memory:2} 0",
			"resources{target=xds:///web,authority=#old,cache_state=requested,CDS} 1",
			"server_failure{target=xds:///web,server=memory:1} 1",
			"server_failure{target=xds:///web,server=memory:2} 0",
		)
		w.expect(0, "xdsforge.",
			"xds_client.fallback{target=xds:///web,authority=#old} 0",
		)
		_ = again.Release()
		_ = w.env.Close()
		w.expect(0, "")
	})
}

func newEnv(t testing.TB, s Settings) *Env {
	t.Helper()
	e, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Clients with equal labels are one series.
func TestMetricsOfEqualNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMetricWorld(t)
		defer func() { _ = w.env.Close() }()
		var scopes []*Scope
		for _, names := range [][]string{{"a"}, {"a", "b"}} {
			s, err := w.env.NewScope("web")
			if err != nil {
				t.Fatal(err)
			}
			scopes = append(scopes, s)
			w.watch(s, names...)
		}
		<-time.NewTimer(time.Second).C // for all requests, so that one response has both resources
		synctest.Wait()
		w.set(w.primary, "a", "b")
		w.expect(time.Second, a78,
			"connected{target=web,server=memory:1} 1",
			"resource_updates_invalid{target=web,CDS,server=memory:1} 0",
			"resource_updates_valid{target=web,CDS,server=memory:1} 3",
			"resources{target=web,authority=#old,cache_state=acked,CDS} 3",
			"server_failure{target=web,server=memory:1} 0",
		)
		w.primary.Refuse(errors.New("refused")) // the open streams stay
		late, err := w.env.NewScope("web")
		if err != nil {
			t.Fatal(err)
		}
		w.watch(late, "a")
		w.expect(time.Second, a78+"connected",
			"{target=web,server=memory:1} 0",
			"{target=web,server=memory:2} 1",
		)
		for _, s := range append(scopes, late) {
			_ = s.Release()
		}
	})
}

// An Env that could not register its metrics is not open.
func TestMetricsThatFail(t *testing.T) {
	s := settings(t, "n")
	var err error
	if s.Metrics, err = telemetry.NewReader(failingProvider{}); err != nil {
		t.Fatal(err)
	}
	if e, err := New(s); !errors.Is(err, errRegister) || e != nil {
		t.Errorf("New: %v, %v; want the provider's error", e, err)
	}
	if n := len(Open()); n != 0 {
		t.Errorf("%d Envs are open after the error", n)
	}
}

var errRegister = errors.New("no callbacks")

type (
	failingProvider struct{ noop.MeterProvider }
	failingMeter    struct{ noop.Meter }
)

func (failingProvider) Meter(string, ...metric.MeterOption) metric.Meter { return failingMeter{} }

func (failingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, errRegister
}

// BenchmarkScrape reads the metrics of a client with 100,000 resources. A scrape takes less than 1 ms,
// because the client keeps the counts.
func BenchmarkScrape(b *testing.B) {
	const resources = 100_000
	s, meter := settings(b, "n"), scrape.NewMeter()
	body, err := proto.Marshal(&clusterv3.Cluster{Name: "c"})
	if err != nil {
		b.Fatal(err)
	}
	server := memoryads.NewServer(memoryads.Type{URL: cluster.Type().URL()})
	server.Set(cluster.Type().URL(), memoryads.Resource{Name: "c", Body: body})
	s.Transport = memoryads.Network{"memory": server}
	if s.Metrics, err = telemetry.NewReader(meter); err != nil {
		b.Fatal(err)
	}
	e, err := New(s)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	c := acquire(b, e, Servers)
	defer func() { _ = c.Release() }()
	for i := range resources {
		if _, err := cluster.Subscribe(c, fmt.Sprint("c", i), func(cluster.Event) {}); err != nil {
			b.Fatal(err)
		}
	}
	store, err := c.LoadStore(e.Config().Servers()[0])
	if err != nil {
		b.Fatal(err)
	}
	for i := range 20 { // more would measure the SDK
		store.Cluster(fmt.Sprint("c", i), "").Locality(load.LocalityID{Region: "r"}, load.Propagation{}).CallStarted()
	}
	var rm metricdata.ResourceMetrics
	for b.Loop() {
		if rm, err = meter.Collect(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	var total int64
	for _, m := range rm.ScopeMetrics[0].Metrics {
		if m.Name == a78+"resources" {
			for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
				total += p.Value
			}
		}
	}
	if total != resources {
		b.Errorf("%d resources; want %d", total, resources)
	}
}
