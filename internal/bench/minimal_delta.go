package main

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// runDelta is run in the incremental protocol.
func (m *minimal) runDelta(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient) error {
	for _, url := range []string{resourcev3.ClusterType, resourcev3.EndpointType} {
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: nodeID}, TypeUrl: url, ResourceNamesSubscribe: m.names[url]}); err != nil {
			return err
		}
	}
	for {
		resp, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, r := range resp.GetResources() {
			if err := m.resource(r.GetResource()); err != nil {
				return err
			}
		}
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: resp.GetTypeUrl(), ResponseNonce: resp.GetNonce()}); err != nil {
			return err
		}
		m.handled <- resp.GetTypeUrl()
	}
}
