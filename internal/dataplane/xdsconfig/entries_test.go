package xdsconfig_test

import (
	"fmt"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/plugins/listener"
)

// TestConfigHasItsResources expects a configuration to have its listener and routes, and neither if
// there is an error.
func TestConfigHasItsResources(t *testing.T) {
	in(t, "", func(w *world) {
		w.rds("r")
		w.eds("a", "")
		w.endpoints("a", 1)
		w.route(hosts("a"))
		w.want("a configuration", "a: a=[10.0.0.1:1]"+quiet)
		if c := w.last; c.Listener == nil || c.Route == nil || c.VirtualHost == nil || c.Route.VirtualHost("svc") != c.VirtualHost {
			w.t.Errorf("the configuration has %v, %v, %v; want the listener, its routes and the virtual host", c.Listener, c.Route, c.VirtualHost)
		}
		w.route(`virtual_hosts { domains: "elsewhere" }`)
		w.settle()
		if c := w.last; c.Listener != nil || c.Route != nil || c.VirtualHost != nil {
			w.t.Errorf("the configuration without a virtual host has %v, %v, %v", c.Listener, c.Route, c.VirtualHost)
		}
	})
}

// TestSubscribeABadName expects a subscription to an invalid name to give a cluster with an error,
// under the name that calls use.
func TestSubscribeABadName(t *testing.T) {
	in(t, "", func(w *world) {
		w.eds("a", "")
		w.endpoints("a", 1)
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a")))
		w.want("a configuration", "a: a=[10.0.0.1:1]"+quiet)
		const bad = "xdstp://%zz/envoy.config.cluster.v3.Cluster/c"
		release := w.watcher.Subscribe(bad)
		w.settle()
		if c, ok := w.last.Clusters[bad]; !ok || c.Err == nil {
			w.t.Errorf("the clusters are %v, want %s with an error", w.last.Clusters, bad)
		}
		release()
		w.settle()
		if len(w.last.Clusters) != 1 {
			w.t.Errorf("the clusters are %v after the release, want a", w.last.Clusters)
		}
	})
}

// TestDeepestAggregate expects 16 levels of clusters, and no more (A37).
func TestDeepestAggregate(t *testing.T) {
	in(t, "", func(w *world) {
		chain := append(names("n", 16), "leaf")
		for i := range 16 {
			w.aggregate(chain[i], chain[i+1])
		}
		w.eds("leaf", "")
		w.endpoints("leaf", 1)
		w.listener(fmt.Sprintf("route_config { %s }", hosts("n0", "n1")))
		w.settle()
		if c := w.last.Clusters["n0"]; c.Err == nil || !strings.Contains(c.Err.Error(), "16") {
			w.t.Errorf("with 17 levels, the cluster is %+v; want an error", c)
		}
		if c := w.last.Clusters["n1"]; c.Err != nil || len(c.Leaves) != 1 {
			w.t.Errorf("with 16 levels, the cluster has the leaves %v, %v; want one", c.Leaves, c.Err)
		}
	})
}

// TestAmbientTroubleIsToldOnce expects an ambient error of the listener in the notes of clusters.
// The same error causes no further configuration.
func TestAmbientTroubleIsToldOnce(t *testing.T) {
	in(t, "", func(w *world) {
		w.eds("a", "")
		w.endpoints("a", 1)
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a")))
		w.want("a configuration", "a: a=[10.0.0.1:1]"+quiet)
		w.set(listener.Type().URL(), "l", new(listenerv3.Listener), `name: "l"
			api_listener { api_listener { type_url: "type.googleapis.com/x.Unknown" } }`)
		w.settle()
		if note := w.last.Clusters["a"].Note.Error(); !strings.Contains(note, "Listener") {
			w.t.Errorf("with an invalid listener, the note is %q", note)
		}
		for len(w.news) > 0 {
			<-w.news
		}
		w.watcher.Subscribe("a")()
		w.want("a traversal without a change")
	})
}

// TestWeightedClusters expects a configuration to have all clusters of a route.
func TestWeightedClusters(t *testing.T) {
	in(t, "", func(w *world) {
		for i, name := range []string{"a", "b"} {
			w.eds(name, "")
			w.endpoints(name, i+1)
		}
		w.listener(fmt.Sprintf("route_config { %s }", weighted("a", "b")))
		w.want("a configuration", "a b: a=[10.0.0.1:1]"+quiet+" b=[10.0.0.1:2]"+quiet)
	})
}

// TestSubscribeBeforeStart expects a Watcher with a subscribed cluster to watch nothing before Start.
func TestSubscribeBeforeStart(t *testing.T) {
	in(t, "", func(w *world) {
		w.watcher.Close()
		limited, news := w.limited(w.client, 10)
		defer limited.Close()
		defer limited.Subscribe("a")()
		w.elapse()
		if got := w.subscribed(); got != "" || len(news) > 0 {
			w.t.Errorf("before Start, %q is subscribed to, and %d configurations are delivered", got, len(news))
		}
	})
}
