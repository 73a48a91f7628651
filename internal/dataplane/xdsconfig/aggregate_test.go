package xdsconfig_test

import (
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// TestAggregateIsKept expects the entry of an aggregate cluster to stay until the cluster changes,
// and then to have the new resource.
func TestAggregateIsKept(t *testing.T) {
	in(t, "", func(w *world) {
		w.aggregate("y", "z")
		w.eds("z", "")
		w.endpoints("z", 1)
		w.listener(fmt.Sprintf("route_config { %s }", hosts("y")))
		const all = "y: y=z z=[10.0.0.1:1]" + quiet
		w.want("a configuration", all)
		before := w.last.Clusters["y"].Update
		release := w.watcher.Subscribe("y")
		w.want("a traversal without a change")
		release()
		w.want("another traversal without a change")
		w.set(cluster.Type().URL(), "y", new(clusterv3.Cluster), `name: "y" lb_policy: RING_HASH
			cluster_type { typed_config { [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: ["z"] } } }`)
		w.want("the aggregate cluster changes, with the same leaves", all)
		if after := w.last.Clusters["y"].Update; after == before {
			w.t.Error("the configuration has the aggregate cluster before its change")
		}
	})
}

// TestSharedAggregatesCountOnce expects the cost of aggregate clusters with common children to be
// the number of leaves, not of paths.
func TestSharedAggregatesCountOnce(t *testing.T) {
	const n = 40
	in(t, "", func(w *world) {
		w.watcher.Close()
		limited, news := w.limited(w.client, 2*n+1) // 2 x 40 aggregates and a leaf
		defer limited.Close()
		w.eds("z", "")
		w.endpoints("z", 1)
		outer, inner := names("outer", n), names("inner", n)
		for i := range n {
			w.aggregate(outer[i], inner...)
			w.aggregate(inner[i], "z")
		}
		w.listener(fmt.Sprintf("route_config { %s }", hosts(outer...)))
		limited.Start()
		w.elapse()
		if len(news) != 1 {
			w.t.Fatalf("%d configurations after a minute; want one", len(news))
		}
		if got := <-news; strings.Count(got, "=z") != n || !strings.HasSuffix(got, quiet) {
			w.t.Errorf("the configuration is %q; want %d aggregate clusters and their leaf", got, n)
		}
	})
}

// TestCloseDuringATraversal expects Close to end the watches of the last configuration, too, while the
// next one is not complete.
func TestCloseDuringATraversal(t *testing.T) {
	in(t, "", func(w *world) {
		w.rds("r")
		w.eds("a", "")
		w.endpoints("a", 1)
		w.route(hosts("a"))
		w.want("a configuration", "a: a=[10.0.0.1:1]"+quiet)
		w.route(hosts("b"))
		w.want("b has not come")
		w.watcher.Close()
		if got := w.subscribed(); got != "" {
			w.t.Errorf("subscribed after Close: %q", got)
		}
	})
}
