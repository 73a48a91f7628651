package xdsforge_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// A program usually has no WithBootstrap: the environment variable GRPC_XDS_BOOTSTRAP names the
// bootstrap file.
func ExampleNew() {
	config, stop, err := controlPlane()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	u, err := cluster.Get(ctx, c, "checkout")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("requests at a time:", u.MaxRequests)
	_, err = cluster.Get(ctx, c, "xdstp://nowhere/envoy.config.cluster.v3.Cluster/checkout")
	fmt.Println(errors.Is(err, bootstrap.ErrUnknownAuthority))
	// Output:
	// requests at a time: 7
	// true
}

// Two clients with caches of their own share a connection. The Env is in use until all of them
// are closed.
func ExampleNewEnv() {
	config, stop, err := controlPlane()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var clients [2]*xdsforge.Client
	for i := range clients {
		if clients[i], err = env.NewClient(); err != nil {
			fmt.Println(err)
			return
		}
		if _, err := cluster.Get(ctx, clients[i], "checkout"); err != nil {
			fmt.Println(err)
			return
		}
	}
	_ = env.Close() // nothing more is made of it
	snapshots, err := env.Snapshots(ctx)
	fmt.Println(len(snapshots), "clients,", len(xdsforge.Envs()), "Env in use,", err)
	for _, c := range clients {
		_ = c.Close()
	}
	fmt.Println(len(xdsforge.Envs()), "Envs in use")
	// Output:
	// 2 clients, 1 Env in use, <nil>
	// 0 Envs in use
}

// Functions of the program register its own extensions beside the types.
func ExampleWithTypes() {
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register, func(r xdsforge.Registrar) {
		r.Extend(&resource.LBPolicy{Config: "acme.NearestFirst"})
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer env.Close()
	_, own := env.Types().LBPolicy("acme.NearestFirst")
	_, builtIn := env.Types().LBPolicy("envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin")
	fmt.Println(env.Types().Len(), own, builtIn)

	_, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config))
	fmt.Println(err)
	// Output:
	// 4 true true
	// xdsforge: no resource types; give WithTypes(standard.Register), or the Register functions of the types to watch
}

// controlPlane starts a control plane with the cluster "checkout", and returns its bootstrap.
func controlPlane() (config *bootstrap.Config, stop func(), err error) {
	s, err := controlplane.Start([]string{"envoy.config.cluster.v3.Cluster"})
	if err != nil {
		return nil, nil, err
	}
	c := new(clusterv3.Cluster)
	c.Name, c.ClusterDiscoveryType = "checkout", &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
	ads := &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}
	c.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads}
	c.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(7)}}}
	if err := s.Set("checkout", c); err != nil {
		return nil, nil, err
	}
	config, err = bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, s.Addr()))
	return config, s.Stop, err
}
