package main

import (
	"context"
	"fmt"

	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
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
			return [][]byte{append(text(1, "c"), field(38, text(1, "envoy.clusters.aggregate"), field(2, anyOf(&aggregatev3.ClusterConfig{}, clusters())))...)}
		}
	}
	return []attack{
		attackOf("aggregate of many", "", watched, aggregate(func() []byte {
			return fill(usual, func(i int) []byte { return text(1, fmt.Sprintf("%x", i)) })
		})),
		attackOf("aggregate of empty names", "decode limit", watched, aggregate(func() []byte {
			return fill(usual, func(int) []byte { return text(1, "") })
		})),
		attackOf("unasked clusters", "", watched, many(usual, func(i int) []byte { return edsCluster(fmt.Sprintf("u%x", i)) })),
		attackOf("unasked and without names", "it has no name", watched, many(usual, func(int) []byte { return nil })),
		attackOf("100,000 clusters", "", everything, thousands(100)).large(100_000 * 1400),
		attackOf("100,000 unasked clusters", "", watched, thousands(100)).large(100_000 * 1400),
		attackOf("largest: unasked and tiny", "too many", watched, many(largest-1<<20, func(int) []byte { return nil })).large(largest),
		attackOf("largest: members", "member", everything, many(largest-1<<20, func(i int) []byte { return edsCluster(fmt.Sprintf("u%x", i)) })).large(largest),
		attackOf("largest: metadata", "decode limit", everything, many(largest-1<<20, func(i int) []byte {
			return append(edsCluster(fmt.Sprintf("u%x", i)), clusterMetadata(4)...)
		})).large(largest),
		attackOf("largest: one cluster", "", watched, func() [][]byte {
			return [][]byte{append(edsCluster("c"), fill(largest-1<<20, func(int) []byte { return field(1000, make([]byte, 1<<20)) })...)}
		}).large(largest),
		attackOf("members", "", everything, many(usual, func(i int) []byte { return edsCluster(fmt.Sprintf("u%x", i)) })),
		attackOf("invalid members", "must", everything, many(usual, func(i int) []byte { return text(1, fmt.Sprintf("%x", i)) })),
		attackOf("huge names", "must not be longer", watched, many(usual, func(int) []byte { return text(1, string(make([]byte, usual-10))) })),
	}
}

// thousands are so many thousand clusters as large control planes send them: with
// metadata, and with options that are not read.
func thousands(n int) func() [][]byte {
	return func() [][]byte {
		list, options := make([][]byte, n*1000), append(clusterMetadata(1), field(36, make([]byte, 900))...)
		for i := range list {
			list[i] = append(edsCluster(fmt.Sprintf("outbound|80||service-%06d.namespace.svc.cluster.local", i)), options...)
		}
		return list
	}
}

// clusterMetadata is metadata of a cluster, of several filters.
func clusterMetadata(filters int) []byte {
	return field(25, repeated(filters, func(i int) []byte {
		return field(1, text(1, fmt.Sprint("filter", i)), field(2, repeated(5, func(k int) []byte {
			return field(1, text(1, fmt.Sprint("key", k)), field(2, text(3, "a value of the usual length in metadata")))
		})))
	}))
}

// edsCluster is a cluster of type EDS.
func edsCluster(name string) []byte { return append(encoded(beat("s")), text(1, name)...) }
