package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/process"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// treeRows replace one of many endpoints of a cluster, from the configuration until the channel has
// the picker.
func treeRows(ctx context.Context) (rows []Row, err error) {
	clustermanager.Register()
	for _, policy := range []struct {
		name string
		lb   resource.LBConfig
	}{
		{"round_robin", resource.LBConfig{Name: "xds_wrr_locality_experimental", Config: `{"childPolicy":[{"round_robin":{}}]}`}},
		{"ring_hash", resource.LBConfig{Name: "ring_hash_experimental", Config: `{}`}},
	} {
		many, few, err := takeTurns(100_000, 10_000, func(n, _ int) (time.Duration, error) { return changeOne(ctx, policy.lb, n) })
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			Row{Name: "one of 10000 endpoints changes, " + policy.name, Unit: "ms", Ours: milliseconds(few), Bound: 8},
			Row{Name: "  of 100000", Unit: "ms", Ours: milliseconds(many), Peer: milliseconds(few), Beside: "at 10000", Bound: 11})
	}
	return rows, nil
}

// changeOne measures a change of one of n endpoints of a cluster.
func changeOne(ctx context.Context, lb resource.LBConfig, n int) (time.Duration, error) {
	c := &treeChannel{states: make(chan struct{}, 1)}
	tree := balancer.Get(clustermanager.Name).Build(c, balancer.BuildOptions{})
	defer tree.Close()
	update := func(round int) (time.Duration, error) {
		config := treeConfig(lb, n, round)
		runtime.GC()
		before := process.CPU()
		err := tree.UpdateClientConnState(balancer.ClientConnState{ResolverState: resolver.State{
			Attributes: lbtree.WithState(nil, &lbtree.State{Config: config}),
		}})
		return process.CPU() - before, err
	}
	if _, err := update(0); err != nil {
		return 0, err
	}
	if err := c.create(ctx); err != nil {
		return 0, err
	}
	return median(3, func(round int) (time.Duration, error) { return update(round + 1) })
}

// treeConfig is a cluster of n endpoints. The version decides the port of one of them.
func treeConfig(lb resource.LBConfig, n, version int) *xdsconfig.Config {
	l := endpoint.Locality{Weight: 1, Endpoints: make([]endpoint.Endpoint, 0, n)}
	for i := range n {
		port := 80
		if i == n/2 {
			port += version
		}
		l.Endpoints = append(l.Endpoints, endpoint.New(fmt.Sprintf("10.%d.%d.%d:%d", i>>16, i>>8&255, i&255, port)))
	}
	u := &cluster.Update{Discovery: cluster.EDS{ServiceName: "s"}, LBPolicy: lb, MaxRequests: 1024}
	return &xdsconfig.Config{Targets: []string{"c"}, Clusters: map[string]xdsconfig.Cluster{"c": {Update: u, Localities: []endpoint.Locality{l}}}}
}

// A treeChannel is a channel whose subchannels never connect.
type treeChannel struct {
	balancer.ClientConn
	last   atomic.Pointer[balancer.State]
	states chan struct{} // gets a value after a new state, unless it has one
}

type treeSubConn struct {
	balancer.SubConn
	_ byte // so that each has an address of its own
}

func (*treeSubConn) Connect()  {}
func (*treeSubConn) Shutdown() {}

// NewSubConn implements [balancer.ClientConn].
func (*treeChannel) NewSubConn([]resolver.Address, balancer.NewSubConnOptions) (balancer.SubConn, error) {
	return new(treeSubConn), nil
}

// UpdateState implements [balancer.ClientConn].
func (c *treeChannel) UpdateState(s balancer.State) {
	c.last.Store(&s)
	select {
	case c.states <- struct{}{}:
	default:
	}
}

// ResolveNow implements [balancer.ClientConn].
func (*treeChannel) ResolveNow(resolver.ResolveNowOptions) {}

// create makes a call to the cluster, and waits until it has policies and subchannels.
func (c *treeChannel) create(ctx context.Context) error {
	select {
	case <-c.states: // of the first configuration
	case <-ctx.Done():
		return ctx.Err()
	}
	_, _ = c.last.Load().Picker.Pick(balancer.PickInfo{Ctx: lbtree.WithCall(ctx, &lbtree.Call{Cluster: "c"})}) // waits for the cluster
	select {
	case <-c.states:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
