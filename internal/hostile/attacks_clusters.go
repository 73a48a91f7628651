package main

import (
	"context"
	"fmt"

	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"

	"github.com/xdsforge/xdsforge/internal/hostile/beat"
	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// largest is the default largest response.
const largest = 256 << 20

// clusterAttacks are attacks by clusters, and by many resources.
func clusterAttacks() []attack {
	watched := []Watch{{Message: clusterMessage, Name: "c"}}
	everything := []Watch{{Message: clusterMessage, Name: "*", Collection: true}}
	attackOf := func(name, rejected string, watches []Watch, bodies func() [][]byte) attack {
		return attack{name: name, watches: watches, rejected: rejected, run: func(ctx context.Context, s *scene) error {
			return s.send(ctx, clusterMessage, bodies()...)
		}}
	}
	many := func(size int, one func(i int) []byte) func() [][]byte {
		return func() (list [][]byte) {
			for i, n := 0, 0; n < size; i++ {
				list = append(list, one(i))
				n += len(list[i]) + len(clusterMessage) + 30
			}
			return list
		}
	}
	aggregate := func(clusters func() []byte) func() [][]byte {
		return func() [][]byte {
			return [][]byte{append(wire.Text(1, "c"), wire.Field(38, wire.Text(1, "envoy.clusters.aggregate"), wire.Field(2, anyOf(&aggregatev3.ClusterConfig{}, clusters())))...)}
		}
	}
	return []attack{
		attackOf("aggregate of many", "", watched, aggregate(func() []byte {
			return wire.Fill(wire.Usual, func(i int) []byte { return wire.Text(1, fmt.Sprintf("%x", i)) })
		})),
		attackOf("aggregate of empty names", "decode limit", watched, aggregate(func() []byte {
			return wire.Fill(wire.Usual, func(int) []byte { return wire.Text(1, "") })
		})),
		attackOf("unasked clusters", "", watched, many(wire.Usual, func(i int) []byte { return edsCluster(fmt.Sprintf("u%x", i)) })),
		attackOf("unasked and without names", "it has no name", watched, many(wire.Usual, func(int) []byte { return nil })),
		attackOf("100,000 clusters", "", everything, thousands(100)).large(100_000 * 1400),
		attackOf("100,000 unasked clusters", "", watched, thousands(100)).large(100_000 * 1400),
		attackOf("largest: unasked and tiny", "too many", watched, many(largest-1<<20, func(int) []byte { return nil })).large(largest),
		attackOf("largest: members", "member", everything, many(largest-1<<20, func(i int) []byte { return edsCluster(fmt.Sprintf("u%x", i)) })).large(largest),
		attackOf("largest: metadata", "decode limit", everything, many(largest-1<<20, func(i int) []byte {
			return append(edsCluster(fmt.Sprintf("u%x", i)), clusterMetadata(4)...)
		})).large(largest),
		attackOf("largest: one cluster", "", watched, func() [][]byte {
			return [][]byte{append(edsCluster("c"), wire.Fill(largest-1<<20, func(int) []byte { return wire.Field(1000, make([]byte, 1<<20)) })...)}
		}).large(largest),
		attackOf("members", "", everything, many(wire.Usual, func(i int) []byte { return edsCluster(fmt.Sprintf("u%x", i)) })),
		attackOf("invalid members", "must", everything, many(wire.Usual, func(i int) []byte { return wire.Text(1, fmt.Sprintf("%x", i)) })),
		attackOf("huge names", "must not be longer", watched, many(wire.Usual, func(int) []byte { return wire.Text(1, string(make([]byte, wire.Usual-10))) })),
	}
}

// thousands are so many thousand clusters as large control planes send them: with
// metadata, and with options that are not read.
func thousands(n int) func() [][]byte {
	return func() [][]byte {
		list, options := make([][]byte, n*1000), append(clusterMetadata(1), wire.Field(36, make([]byte, 900))...)
		for i := range list {
			list[i] = append(edsCluster(fmt.Sprintf("outbound|80||service-%06d.namespace.svc.cluster.local", i)), options...)
		}
		return list
	}
}

// clusterMetadata is metadata of a cluster, of several filters.
func clusterMetadata(filters int) []byte {
	return wire.Field(25, wire.Repeated(filters, func(i int) []byte {
		return wire.Field(1, wire.Text(1, fmt.Sprint("filter", i)), wire.Field(2, wire.Repeated(5, func(k int) []byte {
			return wire.Field(1, wire.Text(1, fmt.Sprint("key", k)), wire.Field(2, wire.Text(3, "a value of the wire.Usual length in metadata")))
		})))
	}))
}

// edsCluster is a cluster of type EDS.
func edsCluster(name string) []byte {
	return append(wire.Encode(beat.Cluster(beat.Name, "s")), wire.Text(1, name)...)
}
