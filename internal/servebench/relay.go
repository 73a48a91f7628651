package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/relay"
	"github.com/xdsforge/xdsforge/serve"
)

// relay returns a server that relays the resources of another one.
func (p *plane) relay(upstream string) (*grpc.Server, error) {
	reg := registry.New()
	standard.Register(reg)
	builtin.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		return nil, err
	}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": "passthrough:///%s",
		"channel_creds": [{"type": "insecure"}], "server_features": ["xds.transport.delta"]}], "node": {"id": "relay"}}`, upstream))
	if err != nil {
		return nil, err
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypeSet(types))
	if err != nil {
		return nil, err
	}
	r, err := relay.New(c)
	if err != nil {
		return nil, err
	}
	s, err := serve.New(types, map[string]source.Source{"": r}, serve.WithLimits(serve.Limits{ClientStreams: 100_000, ClientNames: 100_000_000}))
	if err != nil {
		return nil, err
	}
	g := grpc.NewServer(serve.ServerOptions()...)
	s.Register(g)
	return g, nil
}

// Streams returns the number of ADS streams that are open.
func (p *plane) Streams(_ struct{}, n *int64) error { //nolint:unparam // the form of package net/rpc
	*n = p.streams.Load()
	return nil
}

// countStreams counts the open streams.
func (p *plane) countStreams(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	p.streams.Add(1)
	defer p.streams.Add(-1)
	return handler(srv, ss)
}

// A load is the cost of a change for the control plane and for the relay in front of it.
type load struct {
	upstream, relay time.Duration // processor time
	last            time.Duration
	streams         int64 // of the control plane
}

// relayed measures changes of all resources of a control plane on go-control-plane, with clients that
// are connected to it and with clients of a relay.
func relayed(ctx context.Context, clients, rounds int) ([]Row, error) {
	up, err := start(ctx, "peer")
	if err != nil {
		return nil, err
	}
	defer up.Stop()
	if err := up.publish(0, namesOfAClient); err != nil {
		return nil, err
	}
	direct, err := loadOf(ctx, up, nil, clients, rounds)
	if err != nil {
		return nil, err
	}
	r, err := start(ctx, "relay", "-upstream", up.addr)
	if err != nil {
		return nil, err
	}
	defer r.Stop()
	by, err := loadOf(ctx, up, r, clients, rounds)
	if err != nil {
		return nil, err
	}
	return []Row{
		row("with a relay, all 100 change: streams of the control plane", "", float64(by.streams), float64(direct.streams), 0.01),
		row("with a relay, all 100 change: CPU of the control plane", "ms", milliseconds(by.upstream), milliseconds(direct.upstream), 0.1),
		row("with a relay, all 100 change: CPU with that of the relay", "ms", milliseconds(by.upstream+by.relay), milliseconds(direct.upstream), 0.5),
		row("with a relay, all 100 change: last client", "ms", milliseconds(by.last), milliseconds(direct.last), 1),
	}, nil
}

// loadOf measures changes that the clients receive from the control plane, or by the relay if there is
// one.
func loadOf(ctx context.Context, up, through *server, clients, rounds int) (l load, err error) {
	near := up
	if through != nil {
		near = through
	}
	same := func(int) []string { return list(0, namesOfAClient) }
	fleet, err := connect(ctx, near.addr, clients, same, func(int) bool { return true })
	if err != nil {
		return l, err
	}
	defer fleet.close()
	var before, after [2]time.Duration
	used := func(to *[2]time.Duration) error {
		err := up.Call("CPU", struct{}{}, &to[0])
		if err == nil && through != nil {
			err = through.Call("CPU", struct{}{}, &to[1])
		}
		return err
	}
	fan := fanOut{ctx: ctx, ours: "ours", rounds: rounds}
	var last []time.Duration
	for round := range rounds + 1 {
		d, err := fan.round(up, fleet, namesOfAClient, clients*namesOfAClient)
		if err == nil && round == 0 { // the first is for practice
			err = used(&before)
		}
		if err != nil {
			return l, err
		}
		last = append(last, d)
	}
	if err := used(&after); err != nil {
		return l, err
	}
	err = up.Call("Streams", struct{}{}, &l.streams)
	l.upstream, l.relay = (after[0]-before[0])/time.Duration(rounds), (after[1]-before[1])/time.Duration(rounds)
	l.last = median(last[1:])
	return l, err
}
