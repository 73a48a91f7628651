package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/process"
)

const nodeID = "bench"

// A plane is the control plane's side: a snapshot that calls change.
type plane struct {
	addr      string
	cache     cachev3.SnapshotCache
	clusters  []types.Resource
	endpoints []types.Resource
	version   map[string]int // by type URL
	// versions are those of the resources of each type, for the delta variant. go-control-plane would hash all resources
	// at every change.
	versions map[string]map[string]string
}

// servePlane is the process of the control plane.
func servePlane(ctx context.Context) error {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p := &plane{
		addr: lis.Addr().String(), cache: cachev3.NewSnapshotCache(false, cachev3.IDHash{}, nil), version: make(map[string]int),
		versions: map[string]map[string]string{resourcev3.ClusterType: {}, resourcev3.EndpointType: {}},
	}
	g := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, serverv3.NewServer(ctx, p.cache, nil))
	go func() { _ = g.Serve(lis) }()
	defer g.Stop()
	return process.Serve(p)
}

// Fill makes n clusters and n assignments of ten endpoints. Nothing is sent before. It returns the
// address of the control plane.
func (p *plane) Fill(n int, addr *string) error {
	for i := range n {
		p.clusters = append(p.clusters, newCluster(i, 1000))
		p.endpoints = append(p.endpoints, newAssignment(i, 8000))
		p.versions[resourcev3.ClusterType][clusterName(i)] = "0"
		p.versions[resourcev3.EndpointType][serviceName(i)] = "0"
	}
	*addr = p.addr
	return p.publish()
}

// A Resource is one of a type, by its number.
type Resource struct {
	URL    string
	Number int
}

// Touch changes a resource.
func (p *plane) Touch(r Resource, _ *struct{}) error {
	p.version[r.URL]++
	name := clusterName(r.Number)
	if v := p.version[r.URL]; r.URL == resourcev3.ClusterType {
		p.clusters[r.Number] = newCluster(r.Number, uint32(1000+v)) //nolint:gosec // a small count
	} else {
		name = serviceName(r.Number)
		p.endpoints[r.Number] = newAssignment(r.Number, uint32(8000+v)) //nolint:gosec // a small count
	}
	changed := maps.Clone(p.versions[r.URL]) // the last snapshot has the other one
	changed[name] = strconv.Itoa(p.version[r.URL])
	p.versions[r.URL] = changed
	return p.publish()
}

// Again makes a new version of a type, with the resources that it had.
func (p *plane) Again(url string, _ *struct{}) error {
	p.version[url]++
	return p.publish()
}

func (p *plane) publish() error {
	s := cachev3.Snapshot{VersionMap: maps.Clone(p.versions)}
	for url, resources := range map[string][]types.Resource{resourcev3.ClusterType: p.clusters, resourcev3.EndpointType: p.endpoints} {
		s.Resources[cachev3.GetResponseType(url)] = cachev3.NewResources(fmt.Sprint(p.version[url]), resources)
	}
	return p.cache.SetSnapshot(context.Background(), nodeID, &s)
}

func clusterName(i int) string { return fmt.Sprintf("cluster-%06d", i) }

func serviceName(i int) string { return fmt.Sprintf("service-%06d", i) }

func newCluster(i int, maxRequests uint32) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 clusterName(i),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		ConnectTimeout:       durationpb.New(5e9),
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
			ServiceName: serviceName(i),
			EdsConfig: &corev3.ConfigSource{
				ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}, ResourceApiVersion: corev3.ApiVersion_V3,
			},
		},
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(maxRequests)}}},
	}
}

func newAssignment(i int, port uint32) *endpointv3.ClusterLoadAssignment {
	locality := &endpointv3.LocalityLbEndpoints{
		Locality: &corev3.Locality{Region: "region", Zone: "zone"}, LoadBalancingWeight: wrapperspb.UInt32(1),
	}
	for e := range uint32(10) {
		locality.LbEndpoints = append(locality.LbEndpoints, &endpointv3.LbEndpoint{
			HealthStatus: corev3.HealthStatus_HEALTHY,
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{
				Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address:       fmt.Sprintf("10.%d.%d.%d", i/65536, i/256%256, i%256),
					PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port + 1000*e},
				}},
			}}},
		})
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: serviceName(i), Endpoints: []*endpointv3.LocalityLbEndpoints{locality}}
}
