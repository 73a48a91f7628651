package testing

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// checkout returns a cluster with a limit.
func checkout(limit uint32) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 "checkout",
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{ServiceName: "checkout", EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: new(corev3.AggregatedConfigSource)},
		}},
		CircuitBreakers: &clusterv3.CircuitBreakers{
			Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(limit)}},
		},
	}
}

// start runs a limiter in a bubble. The returned function waits until the limiter is idle and then
// compares its limit.
func start(t *testing.T, c resource.Client) (want func(limit uint32, warning error)) {
	t.Helper()
	l := new(Limiter)
	go l.Run(t.Context(), c, "checkout")
	return func(limit uint32, warning error) {
		t.Helper()
		synctest.Wait()
		if got, err := l.Limit(); got != limit || !errors.Is(err, warning) {
			t.Errorf("limit %d, warning %v; want %d, %v", got, err, limit, warning)
		}
	}
}

// TestEvents tests the program without a control plane. A fake client yields the events.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := xdstest.NewFake()
		emit := func(ev cluster.Event) { xdstest.Emit(f, cluster.Type(), "checkout", ev) }
		want := start(t, f)
		want(0, nil)

		emit(cluster.Event{Update: xdstest.Decode(t, cluster.Type(), checkout(7))})
		want(7, nil)

		emit(cluster.Event{Update: &cluster.Update{MaxRequests: 8}, Ambient: xdsforge.ErrTransport})
		want(8, xdsforge.ErrTransport)

		emit(cluster.Event{Err: xdsforge.ErrNotFound})
		want(0, nil)
	})
}

// TestOutage tests the program with the real client and a control plane in memory.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := xdstest.InMemory(t, cluster.Type())
		want := start(t, cp.Client(xdsforge.WithTypes(cluster.Register)))
		cp.Set(checkout(7))
		cp.WantAccepted(cluster.Type())
		want(7, nil)

		cp.Disconnect(nil)
		<-time.NewTimer(2 * time.Second).C // the clock of the bubble; the client has retried
		want(7, xdsforge.ErrTransport)

		cp.Set(checkout(8))
		cp.Reconnect()
		cp.WantAccepted(cluster.Type())
		want(8, nil)
	})
}
