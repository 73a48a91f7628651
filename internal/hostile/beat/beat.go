// Package beat measures by how much changes of resources are late. An honest control plane changes a cluster all the
// time, and a client watches it, while something else attacks the client or the server between the two.
package beat

import (
	"strconv"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/fakeads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// Every is the time between updates of the second control plane.
const Every = 20 * time.Millisecond

// Authority is the name of the honest control plane's authority.
const Authority = "second"

// Name is the name of the cluster that changes.
const Name = "xdstp://" + Authority + "/envoy.config.cluster.v3.Cluster/beat"

// Start starts the honest control plane. It sends a new version of its cluster all
// the time; the version is the time.
func Start() (*fakeads.Server, error) {
	return fakeads.Start(func(stream fakeads.Stream) error {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		go func() {
			for {
				if _, err := stream.Recv(); err != nil {
					return
				}
			}
		}()
		ticks := time.NewTicker(Every)
		defer ticks.Stop()
		for {
			now := strconv.FormatInt(time.Now().UnixNano(), 10)
			a, err := anypb.New(Cluster(Name, now))
			if err != nil {
				return err
			}
			if err := stream.Send(&discoveryv3.DiscoveryResponse{
				TypeUrl: cluster.Type().URL(), VersionInfo: now, Nonce: now, Resources: []*anypb.Any{a},
			}); err != nil {
				return err
			}
			select {
			case <-ticks.C:
			case <-stream.Context().Done():
				return nil
			}
		}
	})
}

// Cluster returns a cluster with a value.
func Cluster(name, value string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
			ServiceName: value,
			EdsConfig:   &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}},
		},
	}
}
