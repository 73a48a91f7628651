package clustermanager

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// TestNothingIsEjected expects no log lines for intervals without an ejection.
func TestNothingIsEjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var text strings.Builder
		c := leafConfig(cluster.EDS{}, "a", "b")
		c.Update.OutlierDetection = &cluster.OutlierDetection{
			Interval: 10 * time.Second, BaseEjectionTime: 30 * time.Second, MaxEjectionTime: 30 * time.Second, MaxEjectionPercent: 50,
			FailurePercentage: cluster.FailurePercentage{Threshold: 50, Enforcement: 100, MinimumHosts: 1, RequestVolume: 1},
		}
		s.do(func() {
			s.cluster.tree.State.Logger = slog.New(slog.NewTextHandler(&text, nil))
			s.cluster.Update(c)
		})
		<-time.NewTimer(time.Minute).C
		synctest.Wait()
		s.do(func() {
			if text.Len() > 0 {
				t.Errorf("the log has %q after intervals without calls, want nothing", text.String())
			}
		})
	})
}

// TestHealthOfAnEarlierRegistration expects that a health listener of a lost connection does not
// change the health of the next one.
func TestHealthOfAnEarlierRegistration(t *testing.T) {
	loop := serial.New(func() {})
	defer loop.Close(func() {})
	below := new(connection)
	s := &subConn{SubConn: below, conn: &clusterConn{loopConn: loopConn{loop: loop}}}
	ready := balancer.SubConnState{ConnectivityState: connectivity.Ready}
	told := 0
	register := func() (health func(balancer.SubConnState)) {
		s.RegisterHealthListener(func(balancer.SubConnState) { told++ })
		loop.Do(func() { health = below.health })
		return health
	}
	first := register()
	loop.Do(func() { s.connected(ready) })
	second := register()
	first(ready)
	loop.Do(func() {
		if told != 0 {
			t.Error("the health of the first connection was reported for the second one")
		}
	})
	second(ready)
	loop.Do(func() {
		if told != 1 {
			t.Errorf("the listener was called %d times with the health of its connection, want 1", told)
		}
	})
}

// TestSameWithoutEndpoints expects two updates of a cluster without localities and drops to be
// equal.
func TestSameWithoutEndpoints(t *testing.T) {
	a := leafConfig(cluster.EDS{})
	a.Localities, a.Drops = nil, nil
	b := a
	if !sameButNote(&a, &b) {
		t.Error("a cluster without localities and drops differs from itself")
	}
}

// TestSecuredByTheChannel expects a cluster to configure TLS only if the channel's credentials
// allow it.
func TestSecuredByTheChannel(t *testing.T) {
	providers, err := security.NewProviders(new(bootstrap.Config), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer providers.Close()
	for _, p := range []*security.Providers{nil, providers} {
		loop := serial.New(func() {})
		state := &lbtree.State{Breakers: new(breaker.Set), Logger: slog.New(slog.DiscardHandler), TLS: p}
		var c *leafCluster
		loop.Do(func() {
			c = newLeafCluster(&lbtree.Env{Loop: loop, Conn: new(channel), State: state}, "c", func(balancer.State) {})
		})
		if got, want := c.tls != nil, p != nil; got != want {
			t.Errorf("the channel lets clusters configure TLS: %t; the cluster has TLS: %t", want, got)
		}
		loop.Close(c.Close)
	}
}
