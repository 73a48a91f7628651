package main

import (
	"fmt"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// relayMemory is the limit of the upstream subscriptions of a relay: 100,000 of about 4 KiB.
const relayMemory = 100_000 * 4 << 10

// relayAttacks are attacks on a relay, whose upstream subscriptions all clients share.
func relayAttacks() []attack {
	s := scene{relayed: true}
	deltaOf := func(fields ...[]byte) []byte {
		return join(append([][]byte{wire.Text(deltaURL, clusterURL)}, fields...)...)
	}
	return []attack{
		sends("relay: 50,000 names that do not exist", s, relayMemory, "", delta, func() [][]byte {
			return [][]byte{deltaOf(names(deltaAdd, 50_000, "junk-%d"))}
		}),
		sends("relay: 20,000 names subscribed and unsubscribed", s, relayMemory, "", delta, func() [][]byte {
			return turns(20, deltaOf(names(deltaAdd, 20_000, "junk-%d")), deltaOf(names(deltaRemove, 20_000, "junk-%d")))
		}),
		sends("relay: other names in each of 10 requests", s, relayMemory, "", delta, func() (list [][]byte) {
			for k := range 10 {
				list = append(list, deltaOf(names(deltaAdd, 5000, fmt.Sprintf("%d-", k)+"%d")), deltaOf(names(deltaRemove, 5000, fmt.Sprintf("%d-", k)+"%d")))
			}
			return list
		}),
		sends("relay: 2,000 globs", s, relayMemory, "", delta, func() [][]byte {
			return [][]byte{deltaOf(names(deltaAdd, 2000, "xdstp:///envoy.config.cluster.v3.Cluster/%d/*"))}
		}),
		sends("relay: 2,000 lists", s, relayMemory, "", delta, func() [][]byte {
			return [][]byte{join(wire.Text(deltaURL, prefix+"envoy.config.cluster.v3.ClusterCollection"),
				names(deltaAdd, 2000, "xdstp:///envoy.config.cluster.v3.ClusterCollection/%d"))}
		}),
		sends("relay: 10,000 names of unknown authorities", s, relayMemory, "", delta, func() [][]byte {
			return [][]byte{deltaOf(names(deltaAdd, 10_000, "xdstp://authority-%d/envoy.config.cluster.v3.Cluster/c"))}
		}),
		sends("relay: 10,000 names that are no xdstp names", s, relayMemory, "", delta, func() [][]byte {
			return [][]byte{deltaOf(names(deltaAdd, 10_000, "xdstp:%d"))}
		}),
		sends("relay: 16 MiB of names", s, relayMemory, "", delta, func() (list [][]byte) {
			for i := range 3 {
				list = append(list, deltaOf(full(deltaAdd, 8000, i*1000)))
			}
			return list
		}),
		sends("relay: wildcards of all types", s, relayMemory, "", delta, func() (list [][]byte) {
			for _, url := range []string{clusterURL, endpointURL, listenerURL, routeURL} {
				list = append(list, join(wire.Text(deltaURL, url), wire.Text(deltaAdd, "*")))
			}
			return list
		}),
	}
}
