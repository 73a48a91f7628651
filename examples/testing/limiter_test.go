// Package testing shows tests with package xdstest: without a control plane, and with one in memory.
package testing

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest"
)

// follow is the program. It reports how many concurrent requests a cluster allows, and a problem.
func follow(ctx context.Context, c resource.Client, name string, report func(limit uint32, problem error)) {
	for ev := range cluster.Watch(ctx, c, name) {
		if ev.Update == nil {
			report(0, ev.Err)
		} else {
			report(ev.Update.MaxRequests, ev.Ambient)
		}
	}
}

// start runs the program in a bubble. The returned function waits until it is idle, and compares its last report.
func start(t *testing.T, c resource.Client) (want func(limit uint32, problem error)) {
	var got uint32
	var err error
	go follow(t.Context(), c, "checkout", func(limit uint32, problem error) { got, err = limit, problem })
	return func(limit uint32, problem error) {
		t.Helper()
		synctest.Wait()
		if got != limit || !errors.Is(err, problem) {
			t.Errorf("limit %d, problem %v; want %d, %v", got, err, limit, problem)
		}
	}
}

// checkout returns a cluster with a limit.
func checkout(limit uint32) *clusterv3.Cluster {
	c := new(clusterv3.Cluster)
	_ = prototext.Unmarshal(fmt.Appendf(nil, `name: "checkout" type: EDS eds_cluster_config { eds_config { ads {} } }
		circuit_breakers { thresholds { max_requests { value: %d } } }`, limit), c)
	return c
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := xdstest.NewFake()
		emit := func(ev cluster.Event) { xdstest.Emit(f, cluster.Type(), "checkout", ev) }
		want := start(t, f)
		emit(cluster.Event{Update: xdstest.Decode(t, cluster.Type(), checkout(7))})
		want(7, nil)
		emit(cluster.Event{Update: &cluster.Update{MaxRequests: 8}, Ambient: xdsforge.ErrTransport})
		want(8, xdsforge.ErrTransport)
		emit(cluster.Event{Err: xdsforge.ErrNotFound})
		want(0, xdsforge.ErrNotFound)
	})
}

func TestRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := xdstest.InMemory(t, cluster.Type())
		want := start(t, cp.Client(xdsforge.WithTypes(cluster.Register)))
		cp.Set(checkout(7))
		cp.WantAccepted(cluster.Type())
		want(7, nil)
		bad := checkout(8)
		bad.LbPolicy = clusterv3.Cluster_MAGLEV
		cp.Set(bad)
		cp.WantRejected(cluster.Type(), "lb_policy = MAGLEV")
		want(7, xdsforge.ErrInvalid) // the last valid cluster stays in use
	})
}
