package main

import (
	"bytes"
	"context"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// A minimal client, or a skipping one.
type minimal struct {
	conn   *grpc.ClientConn
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	skips  bool

	callbacks map[string]func() // by type URL and name
	names     map[string][]string
	decoded   map[string]proto.Message
	raw       map[string][]byte
	handled   chan string // type URLs of responses
}

func newMinimal(ctx context.Context, addr string, skips bool) (*minimal, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20)))
	if err != nil {
		return nil, err
	}
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return nil, err
	}
	return &minimal{
		conn: conn, stream: stream, skips: skips,
		callbacks: make(map[string]func()), names: make(map[string][]string),
		decoded: make(map[string]proto.Message), raw: make(map[string][]byte),
		handled: make(chan string, 1000),
	}, nil
}

func (m *minimal) watch(url, name string, f func()) {
	m.callbacks[url+name] = f
	m.names[url] = append(m.names[url], name)
}

// run subscribes to everything that is watched and reads responses until the stream
// ends.
func (m *minimal) run() error {
	for _, url := range []string{resourcev3.ClusterType, resourcev3.EndpointType} {
		if err := m.stream.Send(&discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: nodeID}, TypeUrl: url, ResourceNames: m.names[url]}); err != nil {
			return err
		}
	}
	for {
		resp, err := m.stream.Recv()
		if err != nil {
			return err
		}
		for _, a := range resp.GetResources() {
			if err := m.resource(a); err != nil {
				return err
			}
		}
		url := resp.GetTypeUrl()
		if err := m.stream.Send(&discoveryv3.DiscoveryRequest{
			TypeUrl: url, ResourceNames: m.names[url], VersionInfo: resp.GetVersionInfo(), ResponseNonce: resp.GetNonce(),
		}); err != nil {
			return err
		}
		m.handled <- url
	}
}

func (m *minimal) resource(a *anypb.Any) error {
	if m.skips {
		_, _, n := protowire.ConsumeTag(a.GetValue()) // both messages start with their name
		name, _ := protowire.ConsumeBytes(a.GetValue()[n:])
		key := a.GetTypeUrl() + string(name)
		if bytes.Equal(m.raw[key], a.GetValue()) {
			return nil
		}
		m.raw[key] = a.GetValue()
	}
	var key string
	var message proto.Message
	switch a.GetTypeUrl() {
	case resourcev3.ClusterType:
		c := new(clusterv3.Cluster)
		if err := proto.Unmarshal(a.GetValue(), c); err != nil {
			return err
		}
		key, message = a.GetTypeUrl()+c.GetName(), c
	case resourcev3.EndpointType:
		e := new(endpointv3.ClusterLoadAssignment)
		if err := proto.Unmarshal(a.GetValue(), e); err != nil {
			return err
		}
		key, message = a.GetTypeUrl()+e.GetClusterName(), e
	default:
		return fmt.Errorf("a resource of type %s", a.GetTypeUrl())
	}
	m.decoded[key] = message
	if f, watched := m.callbacks[key]; watched {
		f()
	}
	return nil
}
