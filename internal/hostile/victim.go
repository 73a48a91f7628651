package main

import (
	"context"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/hostile/beat"
	"github.com/xdsforge/xdsforge/internal/process"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// A victim is the process with the client. The attacker calls its exported methods.
type victim struct {
	config *bootstrap.Config
	client *xdsforge.Client
	second beat.Delays
	meter  meter
	ends   []func()

	env *xdsforge.Env // of the channel
	cc  *grpc.ClientConn

	stop    chan struct{} // ends the counting of load
	longest chan time.Duration
}

// A Reading has the victim's measurements.
type Reading struct {
	Peak, RSS int64
	Kept      int64
	CPU       time.Duration
	Delay     time.Duration
	Updates   int // of the second authority, since start
}

// serveVictim is the victim's process.
func serveVictim(hostile, second string, delta bool) error {
	v := new(victim)
	if err := v.open(hostile, second, delta); err != nil {
		return err
	}
	defer func() { _ = v.client.Close() }()
	return process.Serve(v)
}

func (v *victim) open(hostile, second string, delta bool) error {
	server := func(uri string, features ...any) []bootstrap.ServerSpec {
		return []bootstrap.ServerSpec{{URI: uri, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}, Features: features}}
	}
	spec := bootstrap.Spec{Node: &corev3.Node{Id: "hostile"}, Servers: server(hostile)}
	if delta {
		spec.Servers = server(hostile, feature.TransportDelta)
	}
	spec.Authorities = map[string]bootstrap.AuthoritySpec{
		beat.Authority: {Servers: server(second)},
		"":             {Servers: spec.Servers},
	}
	var err error
	if v.config, err = bootstrap.New(spec); err != nil {
		return err
	}
	if v.client, err = xdsforge.New(xdsforge.WithBootstrap(v.config), xdsforge.WithTypes(standard.Register)); err != nil {
		return err
	}
	_, err = cluster.Subscribe(v.client, beat.Name, v.second.Notify)
	return err
}

// Start begins a measurement.
func (v *victim) Start(struct{}, *struct{}) error { //nolint:unparam // net/rpc requires a result
	v.second.Restart()
	v.meter.start()
	return nil
}

// End ends the measurement.
func (v *victim) End(_ struct{}, r *Reading) error { //nolint:unparam // net/rpc requires a result
	r.Peak, r.RSS, r.CPU = v.meter.end()
	r.Updates, r.Delay = v.second.Read()
	return nil
}

// Kept returns the bytes that are kept since Start.
func (v *victim) Kept(_ struct{}, bytes *int64) error { //nolint:unparam // net/rpc requires a result
	*bytes = v.meter.kept()
	return nil
}

// Watch subscribes to a resource or a collection.
func (v *victim) Watch(w Watch, _ *struct{}) error {
	t, err := resource.Find(v.client, w.Message)
	if err != nil {
		return err
	}
	if !w.Collection {
		cancel, err := t.Subscribe(v.client, w.Name, func(resource.Event[resource.Update]) {})
		v.ends = append(v.ends, cancel)
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	v.ends = append(v.ends, cancel)
	go func() {
		for range t.WatchCollection(ctx, v.client, w.Name) {
		}
	}()
	return nil
}

// Unwatch ends all watches.
func (v *victim) Unwatch(struct{}, *struct{}) error { //nolint:unparam // net/rpc requires a result
	for _, end := range v.ends {
		end()
	}
	v.ends = nil
	return nil
}
