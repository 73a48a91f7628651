package main

import (
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// nameAttacks are attacks by the names of subscriptions.
func nameAttacks() []attack {
	few := scene{clusters: 10}
	deltaOf := func(fields ...[]byte) []byte {
		return join(append([][]byte{wire.Text(deltaURL, clusterURL)}, fields...)...)
	}
	wholeOf := func(fields ...[]byte) []byte {
		return join(append([][]byte{wire.Text(wholeURL, clusterURL)}, fields...)...)
	}
	long := func(n int) (list [][]byte) {
		for i := range n {
			list = append(list, deltaOf(full(deltaAdd, 8000, i*1000)))
		}
		return list
	}
	return []attack{
		sends("names: 100,000 that do not exist, delta", few, stream, "", delta, func() [][]byte {
			return [][]byte{deltaOf(names(deltaAdd, 100_000, "%d"))}
		}),
		sends("names: 100,000 that do not exist, whole", few, stream, "", whole, func() [][]byte {
			return [][]byte{wholeOf(names(wholeNames, 100_000, "%d"))}
		}),
		sends("names: more than 100,000", few, stream, "Limits.Names", delta, func() [][]byte {
			return [][]byte{deltaOf(full(deltaAdd, 12, 0))}
		}),
		sends("names: 16 MiB of 8,000 bytes each", few, stream, "", delta, func() [][]byte { return long(3) }),
		sends("names: more than 16 MiB", few, stream, "Limits.TotalBytes", delta, func() [][]byte { return long(6) }),
		sends("names: one longer than 8,192 bytes", few, request, "Limits.NameBytes", delta, one(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, text()))),
		sends("names: one of them 1,000,000 times, delta", few, stream, "Limits.Names", delta, func() [][]byte {
			return [][]byte{deltaOf(wire.Repeated(1_000_000, func(int) []byte { return wire.Text(deltaAdd, "a") }))}
		}),
		sends("names: one of them 1,000,000 times, whole", few, stream, "Limits.Names", whole, func() [][]byte {
			return [][]byte{wholeOf(wire.Repeated(1_000_000, func(int) []byte { return wire.Text(wholeNames, "a") }))}
		}),
		sends("names: 1,000,000 empty ones", few, stream, "Limits.Names", delta, func() [][]byte {
			return [][]byte{deltaOf(wire.Repeated(1_000_000, func(int) []byte { return wire.Text(deltaAdd, "") }))}
		}),
		sends("names: 50,000 in turn with others, whole", few, stream, "", whole, func() [][]byte {
			return turns(20, wholeOf(names(wholeNames, 50_000, "a-%d")), wholeOf(names(wholeNames, 50_000, "b-%d")))
		}),
		sends("names: 100,000 subscribed and unsubscribed", few, stream, "", delta, func() [][]byte {
			return turns(20, deltaOf(names(deltaAdd, 100_000, "%d")), deltaOf(names(deltaRemove, 100_000, "%d")))
		}),
		sends("names: 4 MiB of unsubscriptions from nothing", few, stream, "Limits.Names", delta, func() [][]byte {
			return [][]byte{deltaOf(full(deltaRemove, 10, 0))}
		}),
		sends("names: spellings of one xdstp name", few, stream, "", delta, func() [][]byte {
			return [][]byte{deltaOf(wire.Repeated(20_000, func(i int) []byte {
				return wire.Text(deltaAdd, fmt.Sprintf("xdstp:///envoy.config.cluster.v3.Cluster/a%s?x=1", strings.Repeat("%62", i%40)))
			}))}
		}),
		sends("names: xdstp names with 800 context parameters", few, stream, "", delta, func() [][]byte {
			return [][]byte{deltaOf(wire.Repeated(400, func(i int) []byte {
				parameters := wire.Repeated(800, func(k int) []byte { return fmt.Appendf(nil, "&%04d=%d", 9999-k, i) })
				return wire.Text(deltaAdd, "xdstp:///envoy.config.cluster.v3.Cluster/a?"+string(parameters[1:]))
			}))}
		}),
		sends("names: not UTF-8", few, request, "UTF-8", delta, one(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "\xff"))),
		sends("names: 90,000 without permission", scene{clusters: 10, restricted: true}, stream, "", delta, func() [][]byte {
			return [][]byte{deltaOf(names(deltaAdd, 90_000, "name-without-permission-%d"))}
		}),
		sends("names: 90,000 without permission, whole", scene{clusters: 10, restricted: true}, stream, "", whole, func() [][]byte {
			return [][]byte{wholeOf(names(wholeNames, 90_000, "name-without-permission-%d"))}
		}),
		manyStreams("names: 700,000 of 7 streams", few, "", 7, func(i int) []byte {
			return deltaOf(names(deltaAdd, 99_999, fmt.Sprintf("%d-", i)+"%d"))
		}),
		manyStreams("names: 2,000,000 of 20 streams", few, "Limits.ClientBytes", 20, func(i int) []byte {
			return deltaOf(names(deltaAdd, 99_999, fmt.Sprintf("%d-", i)+"%d"))
		}),
		manyStreams("names: 100,000 of each of 25 streams", few, "Limits.ClientNames", 25, func(int) []byte {
			return deltaOf(names(deltaAdd, 99_999, "%d"))
		}),
	}
}

// manyStreams returns an attack that sends one request on each of many streams.
func manyStreams(name string, s scene, ends string, n int, message func(i int) []byte) attack {
	return attack{name: name, scene: s, budget: client, ends: ends, run: func(a *attacker) error {
		messages := make([][]byte, 0, n)
		for i := range n {
			messages = append(messages, message(i))
		}
		a.begin()
		var last *call
		for _, m := range messages {
			c, err := a.open(delta)
			if err != nil {
				return err
			}
			c.read()
			c.send(m)
			last = c
		}
		return last.settle(5 * settling)
	}}
}

// globAttacks are attacks by collections.
func globAttacks() []attack {
	deltaOf := func(fields ...[]byte) []byte {
		return join(append([][]byte{wire.Text(deltaURL, clusterURL)}, fields...)...)
	}
	many := scene{clusters: 20_000}
	const glob = "xdstp:///envoy.config.cluster.v3.Cluster/%d/*"
	return []attack{
		sends("globs: 75,000 in one request", scene{clusters: 10}, stream, "Limits.Collections", delta, func() [][]byte {
			return [][]byte{deltaOf(names(deltaAdd, 75_000, "xdstp:///envoy.config.cluster.v3.Cluster/%d/*"))}
		}),
		sends("globs: 75,000 in one request, whole", scene{clusters: 10}, stream, "Limits.Collections", whole, func() [][]byte {
			return [][]byte{join(wire.Text(wholeURL, clusterURL), names(wholeNames, 75_000, glob))}
		}),
		sends("globs: 10,000 subscribed and unsubscribed", scene{clusters: 10}, stream, "", delta, func() [][]byte {
			return turns(40, deltaOf(names(deltaAdd, 9999, glob)), deltaOf(names(deltaRemove, 9999, glob)))
		}),
		sends("wildcard: 20,000 resources, again and again", many, stream, "", delta, func() [][]byte {
			return turns(40, deltaOf(wire.Text(deltaAdd, "*")), deltaOf(wire.Text(deltaRemove, "*")))
		}),
		unread("wildcard: 20,000 resources, 50 streams that do not read, delta", many, delta, 50, func() []byte { return deltaOf(wire.Text(deltaAdd, "*")) }),
		unread("wildcard: 20,000 resources, 50 streams that do not read, whole", many, whole, 50, func() []byte { return wire.Text(wholeURL, clusterURL) }),
		manyStreams("wildcard: 20,000 resources, 300 streams", many, "Limits.ClientBytes", 300, func(int) []byte {
			return deltaOf(wire.Text(deltaAdd, "*"))
		}),
		sends("wildcard and 100,000 names", many, stream, "", delta, func() [][]byte {
			return [][]byte{deltaOf(wire.Text(deltaAdd, "*")), deltaOf(names(deltaAdd, 99_990, "cluster-with-a-name-%06d"))}
		}),
	}
}

// unread returns an attack by streams that do not read. The budget is that of a response for each.
func unread(name string, s scene, method string, n int, message func() []byte) attack {
	return attack{name: name, scene: s, budget: int64(n) * request, run: func(a *attacker) error {
		m := message()
		a.begin()
		for range n {
			c, err := a.open(method, small()...)
			if err != nil {
				return err
			}
			c.send(m)
		}
		return settle()
	}}
}
