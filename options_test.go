package xdsforge_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest"
)

// limited is an EDS cluster that allows a number of concurrent requests.
func limited(requests uint32) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 "c",
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: new(corev3.AggregatedConfigSource)},
		}},
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{
			{MaxRequests: wrapperspb.UInt32(requests)},
		}},
	}
}

// pass lets the time of the bubble pass, until the client is idle again.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// inMemory runs a test in a bubble with a control plane that has the cluster "c".
func inMemory(t *testing.T, test func(t *testing.T, cp *xdstest.ControlPlane)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cp := xdstest.InMemory(t, cluster.Type())
		cp.Set(limited(1))
		test(t, cp)
	})
}

// WithLimits reaches the decoder, and WithLogger gets the line about the rejection.
func TestLimitsAndLogger(t *testing.T) {
	inMemory(t, func(t *testing.T, cp *xdstest.ControlPlane) {
		var log bytes.Buffer
		c := cp.Client(xdsforge.WithTypes(cluster.Register), xdsforge.WithLimits(resource.Limits{ResourceSize: 1}),
			xdsforge.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		_, err := cluster.Get(t.Context(), c, "c")
		if !errors.Is(err, xdsforge.ErrInvalid) || !strings.Contains(err.Error(), "ResourceSize") {
			t.Errorf("Get = %v; want ErrInvalid with the name of the limit", err)
		}
		cp.WantRejected(cluster.Type(), "ResourceSize", "WithLimits")
		synctest.Wait()
		if !strings.Contains(log.String(), "response rejected") {
			t.Errorf("log = %q; want the rejection", log.String())
		}
	})
}

// WithProfile selects the rules: gRPC rejects a policy that Envoy has.
func TestProfile(t *testing.T) {
	inMemory(t, func(t *testing.T, cp *xdstest.ControlPlane) {
		maglev := limited(1)
		maglev.LbPolicy = clusterv3.Cluster_MAGLEV
		cp.Set(maglev)
		if _, err := cluster.Get(t.Context(), cp.Client(xdsforge.WithTypes(cluster.Register)), "c"); !errors.Is(err, xdsforge.ErrInvalid) {
			t.Errorf("Get = %v with the default profile; want ErrInvalid", err)
		}
	})
	inMemory(t, func(t *testing.T, cp *xdstest.ControlPlane) {
		maglev := limited(1)
		maglev.LbPolicy = clusterv3.Cluster_MAGLEV
		cp.Set(maglev)
		c := cp.Client(xdsforge.WithTypes(cluster.Register), xdsforge.WithProfile(xdsforge.Envoy))
		if _, err := cluster.Get(t.Context(), c, "c"); err != nil {
			t.Errorf("Get = %v with Envoy's profile; want the cluster", err)
		}
	})
}

// A client with the budget 0 reads on while a watcher works. With an hour, it waits for the watcher.
func TestWatcherBudget(t *testing.T) {
	for budget, want := range map[time.Duration]uint32{0: 2, time.Hour: 1} {
		inMemory(t, func(t *testing.T, cp *xdstest.ControlPlane) {
			c := cp.Client(xdsforge.WithTypes(cluster.Register), xdsforge.WithWatcherBudget(budget))
			var last func()
			stop, err := cluster.Type().SubscribeAsync(c, "c", func(_ cluster.Event, done func()) { last = done })
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			pass(time.Millisecond)
			if last == nil {
				t.Fatal("the watcher was not called")
			}
			cp.Set(limited(2))
			pass(50 * time.Millisecond) // the default budget of 100 ms is not over
			u, ok := cluster.Lookup(c, "c")
			if !ok || u.MaxRequests != want {
				t.Errorf("budget %v: the client has %v; want MaxRequests %d", budget, u, want)
			}
		})
	}
}

// WithBootstrapFile reads the file when the Env is made.
func TestBootstrapFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bootstrap.json")
	text := `{"xds_servers": [{"server_uri": "s", "channel_creds": [{"type": "insecure"}]}], "node": {"id": "from-file"}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := xdsforge.NewEnv(xdsforge.WithTypes(cluster.Register), xdsforge.WithBootstrapFile(path))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if got := e.Bootstrap().Node().GetId(); got != "from-file" {
		t.Errorf("node = %q; want that of the file", got)
	}
}
