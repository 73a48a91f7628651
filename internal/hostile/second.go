package main

import (
	"strconv"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/fakeads"
)

// beatEvery is the time between updates of the second control plane.
const beatEvery = 20 * time.Millisecond

// startSecond starts the honest control plane. It sends a new version of its cluster all
// the time; the version is the time.
func startSecond() (*fakeads.Server, error) {
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
		ticks := time.NewTicker(beatEvery)
		defer ticks.Stop()
		for {
			now := strconv.FormatInt(time.Now().UnixNano(), 10)
			a, err := anypb.New(beat(now))
			if err != nil {
				return err
			}
			if err := stream.Send(&discoveryv3.DiscoveryResponse{
				TypeUrl: typeURLPrefix + clusterMessage, VersionInfo: now, Nonce: now, Resources: []*anypb.Any{a},
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

func beat(value string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 secondName,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
			ServiceName: value,
			EdsConfig:   &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}},
		},
	}
}
