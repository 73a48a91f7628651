package main

import (
	"context"
	"errors"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"go.opentelemetry.io/otel/metric"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// A world is a client with two control planes.
type world struct {
	primary, fallback *controlplane.Server
	env               *xdsforge.Env
	client            *xdsforge.Client
}

func newWorld(ctx context.Context, provider metric.MeterProvider) (w *world, err error) {
	w = new(world)
	if w.primary, err = controlplane.Start(controlplane.Standard()); err != nil { //nolint:contextcheck // it ends with Stop
		return nil, err
	}
	if w.fallback, err = controlplane.Start(controlplane.Standard()); err != nil { //nolint:contextcheck // likewise
		return nil, err
	}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "n"}, "xds_servers": [
		{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}, {"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`,
		w.primary.Addr(), w.fallback.Addr()))
	if err != nil {
		return nil, err
	}
	if w.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register), xdsforge.WithMeterProvider(provider)); err != nil {
		return nil, err
	}
	if w.client, err = w.env.NewNamedClient("web"); err != nil {
		return nil, err
	}
	const valid = `name: "shop" type: EDS eds_cluster_config { eds_config { ads {} } }`
	if err := w.primary.SetText("shop", new(clusterv3.Cluster), valid); err != nil {
		return nil, err
	}
	_, err = cluster.Get(ctx, w.client, "shop")
	if err == nil {
		_, err = cluster.Subscribe(w.client, "shop", func(cluster.Event) {})
	}
	return w, err
}

// reject replaces the resource by an invalid one.
func (w *world) reject() error {
	return w.primary.SetText("shop", new(clusterv3.Cluster), `name: "shop" type: EDS`)
}

// disconnect stops the control plane. A new subscription makes the client fall back.
func (w *world) disconnect() error {
	w.primary.Stop()
	_, err := cluster.Subscribe(w.client, "cart", func(cluster.Event) {})
	return err
}

func (w *world) close() error {
	err := errors.Join(w.client.Close(), w.env.Close())
	w.primary.Stop()
	w.fallback.Stop()
	return err
}
