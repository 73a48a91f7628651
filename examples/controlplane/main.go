// Command controlplane publishes clusters to clients, and rejects an invalid one before it leaves.
//
//	go run .
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/serve"
)

func main() {
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		log.Fatal(err)
	}
	store := publish.NewChecked(source.NewMemory(), types)
	if err := fill(store); err != nil {
		log.Fatal(err)
	}
	if err := run(types, store); err != nil {
		log.Fatal(err)
	}
}

// fill publishes a good cluster and a bad one.
func fill(store publish.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := &clusterv3.Cluster{
		Name: "checkout", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: new(corev3.AggregatedConfigSource)},
		}},
	}
	if _, err := cluster.Put(ctx, store, c); err != nil {
		return err
	}
	c.LbPolicy = clusterv3.Cluster_MAGLEV
	_, err := cluster.Put(ctx, store, c)
	fmt.Println(err) // the first version stays
	return nil
}

// run serves the resources of the store until the process ends.
func run(types *resource.Set, store publish.Store) error {
	s, err := serve.New(types, map[string]source.Source{"": store})
	if err != nil {
		return err
	}
	defer s.Close()
	g := grpc.NewServer(serve.ServerOptions()...)
	s.Register(g)
	listener, err := net.Listen("tcp", "127.0.0.1:18000")
	if err != nil {
		return err
	}
	fmt.Println("serving at", listener.Addr())
	return g.Serve(listener)
}
