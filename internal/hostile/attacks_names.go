package main

import (
	"context"
	"fmt"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// nameAttacks are attacks by names that come and go.
func nameAttacks() []attack {
	glob := "xdstp:///" + endpointMessage + "/g/"
	member := func(i int) []byte { return wire.Text(1, fmt.Sprintf("%s%d", glob, i)) }
	return []attack{
		{
			name: "alternating names", watches: []Watch{{Message: endpointMessage, Name: "e"}},
			run: func(ctx context.Context, s *scene) error {
				for i := range 2000 {
					list := make([][]byte, 0, 10)
					for k := range 10 {
						list = append(list, wire.Text(1, fmt.Sprintf("n%d", i*10+k)))
					}
					if err := s.send(ctx, endpointMessage, list...); err != nil {
						return err
					}
				}
				return nil
			},
		},
		{
			name: "alternating members of a glob", peak: 4*40<<20 + maxPeak, watches: []Watch{{Message: endpointMessage, Name: glob + "*", Collection: true}}, rejected: "member",
			run: func(ctx context.Context, s *scene) error {
				for i := range 30 {
					list := make([][]byte, 0, 10_000)
					for k := range 10_000 {
						list = append(list, member(i*10_000+k))
					}
					if err := s.send(ctx, endpointMessage, list...); err != nil {
						return err
					}
				}
				return nil
			},
		},
		{
			name: "members without end", peak: 4*42<<20 + maxPeak, delta: true, watches: []Watch{{Message: clusterMessage, Name: "*", Collection: true}}, rejected: "member",
			run: deltaMembers(edsCluster),
		},
		{
			name: "invalid members without end", peak: 4*24<<20 + maxPeak, delta: true, watches: []Watch{{Message: clusterMessage, Name: "*", Collection: true}}, rejected: "member",
			run: deltaMembers(func(name string) []byte { return append(wire.Text(1, name), wire.Field(4, []byte{8, 200, 1})...) }),
		},
		{
			name: "removals of unknown names", delta: true, watches: []Watch{{Message: clusterMessage, Name: "c"}},
			run: func(ctx context.Context, s *scene) error {
				resp := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typeURLPrefix + clusterMessage}
				for i, n := 0, 0; n < wire.Usual; i++ {
					name := fmt.Sprintf("%x", i)
					resp.RemovedResources = append(resp.RemovedResources, name)
					n += len(name) + 2
				}
				return s.respondDelta(ctx, resp)
			},
		},
		{
			name: "tiny resources", delta: true, rejected: "holds no resource", watches: []Watch{{Message: clusterMessage, Name: "c"}},
			run: func(ctx context.Context, s *scene) error {
				resp := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typeURLPrefix + clusterMessage}
				for i, n := 0, 0; n < wire.Usual; i++ {
					name := fmt.Sprintf("%x", i)
					resp.Resources = append(resp.Resources, &discoveryv3.Resource{Name: name})
					n += len(name) + 4
				}
				return s.respondDelta(ctx, resp)
			},
		},
	}
}

// deltaMembers sends 300,000 members of a wildcard.
func deltaMembers(body func(name string) []byte) func(context.Context, *scene) error {
	return func(ctx context.Context, s *scene) error {
		for i := range 30 {
			resp := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typeURLPrefix + clusterMessage}
			for k := range 10_000 {
				name := fmt.Sprintf("m%d", i*10_000+k)
				resp.Resources = append(resp.Resources, &discoveryv3.Resource{
					Name: name, Version: "1", Resource: &anypb.Any{TypeUrl: typeURLPrefix + clusterMessage, Value: body(name)},
				})
			}
			if err := s.respondDelta(ctx, resp); err != nil {
				return err
			}
		}
		return nil
	}
}
