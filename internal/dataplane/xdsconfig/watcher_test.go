package xdsconfig_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

const quiet = "{xDS node ID: n}"

// The watcher delivers a configuration only when it is complete (A74).
func TestConfigurationsAreComplete(t *testing.T) {
	in(t, "", func(w *world) {
		w.rds("r")
		w.route(hosts("a", "b", "a"))
		w.eds("a", "")
		w.endpoints("a", 1)
		w.want("a cluster has not come yet")
		w.eds("b", "b-eu")
		w.want("endpoints have not come yet")
		w.endpoints("b-eu", 2, 3)
		w.want("all is there", "a b: a=[10.0.0.1:1]"+quiet+" b=[10.0.0.1:2,10.0.0.1:3]"+quiet)
		before := w.last
		w.endpoints("a", 4)
		w.want("endpoints change", "a b: a=[10.0.0.1:4]"+quiet+" b=[10.0.0.1:2,10.0.0.1:3]"+quiet)
		if &before.Clusters["b"].Localities[0] != &w.last.Clusters["b"].Localities[0] {
			t.Error("what has not changed was made anew")
		}
		w.route(hosts("c"))
		w.want("a new cluster has not come yet")
		w.eds("c", "b-eu")
		w.want("it came", "c: c=[10.0.0.1:2,10.0.0.1:3]"+quiet)
		if got := w.subscribed(); got != "b-eu c l r" {
			t.Errorf("subscribed: %q", got)
		}
		w.rds("r2")
		w.elapse()
		w.want("the routes do not come", `: error: RouteConfiguration "r2": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]`)
		w.eds("c", "")
		w.endpoints("c", 9)
		w.listener(fmt.Sprintf("route_config { %s }", hosts("c")))
		w.want("routes within the listener", "c: c=[10.0.0.1:9]"+quiet)
		w.watcher.Close()
		if got := w.subscribed(); got != "" {
			t.Errorf("subscribed after Close: %q", got)
		}
	})
}

// The watcher watches only the resources of the authority's virtual host.
func TestOtherVirtualHostsDoNotCount(t *testing.T) {
	in(t, "", func(w *world) {
		w.rds("r")
		w.route(hosts("a") + ` virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "other" } } }`)
		w.eds("a", "")
		w.endpoints("a", 1)
		w.want("the other host's cluster is not waited for", "a: a=[10.0.0.1:1]"+quiet)
		w.route(`virtual_hosts { domains: "elsewhere" }`)
		w.want("there is no virtual host", `: error: RouteConfiguration "r": invalid: virtual_hosts: none is for the authority "svc" [server memory, node n]`)
	})
}

func TestUnusableListeners(t *testing.T) {
	in(t, `"fail_on_data_errors"`, func(w *world) {
		w.elapse()
		w.want("there is none", `: error: Listener "l": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]`)
		w.set(listener.Type().URL(), "l", new(listenerv3.Listener), `name: "l" address { socket_address { address: "10.0.0.1" port_value: 1 } }
			filter_chains { filters { name: "m" typed_config { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] { route_config {}
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } } }`)
		w.want("it is for servers", `: error: Listener "l": invalid: api_listener = missing; must be set for a client (A27) [server memory, node n]`)
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a")))
		w.eds("a", "")
		w.endpoints("a", 1)
		w.want("it is there", "a: a=[10.0.0.1:1]"+quiet)
		release := w.watcher.Subscribe("a")
		w.want("a cluster that is there already is held")
		w.server.Delete(listener.Type().URL(), "l")
		w.want("it is gone; what is held stays", `a: a=[10.0.0.1:1]`+quiet+` error: Listener "l": removed by the control plane: it is missing from a response that names every resource [server memory, node n]`)
		w.endpoints("a", 2)
		w.want("what is held changes", `a: a=[10.0.0.1:2]`+quiet+` error: Listener "l": removed by the control plane: it is missing from a response that names every resource [server memory, node n]`)
		release()
		release()
		w.want("it is held no longer", `: error: Listener "l": removed by the control plane: it is missing from a response that names every resource [server memory, node n]`)
	})
}

// The configuration has subscribed clusters in addition to those of routes. It does not wait for
// them (A74).
func TestSubscribedClusters(t *testing.T) {
	in(t, "", func(w *world) {
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a")))
		w.eds("a", "")
		w.endpoints("a", 1)
		w.want("one cluster", "a: a=[10.0.0.1:1]"+quiet)
		release, again := w.watcher.Subscribe("b"), w.watcher.Subscribe("b")
		w.want("b has not come yet")
		w.endpoints("a", 2)
		w.want("it holds up nothing", "a: a=[10.0.0.1:2]"+quiet)
		w.eds("b", "")
		w.endpoints("b", 3)
		w.want("it came", "a b: a=[10.0.0.1:2]"+quiet+" b=[10.0.0.1:3]"+quiet)
		w.eds("b", "b2")
		w.want("its endpoints have not come yet: what is there stays")
		w.endpoints("b2", 4)
		w.want("they came", "a b: a=[10.0.0.1:2]"+quiet+" b=[10.0.0.1:4]"+quiet)
		release()
		w.want("it is held still")
		again()
		w.want("it is not", "a: a=[10.0.0.1:2]"+quiet)
	})
}

// Clusters that are subscribed before the start are in the first configuration.
func TestHeldBefore(t *testing.T) {
	in(t, "", func(w *world) {
		defer w.watcher.Subscribe("b")()
		defer w.watcher.Subscribe("cluster_specifier_plugin:p")()
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a")))
		w.eds("a", "")
		w.endpoints("a", 1)
		w.want("b has not come yet")
		w.elapse()
		w.want("it does not come", "a b: a=[10.0.0.1:1]"+quiet+` b=(Cluster "b": does not exist: the control plane did not send it in time after it was asked for [server memory, node n])`)
	})
}

// The policy of a plugin outlives its route while a call subscribes to it.
func TestPlugins(t *testing.T) {
	const plugin = `cluster_specifier_plugins { extension { name: "p" typed_config { [type.googleapis.com/google.protobuf.Empty] {} } } }`
	in(t, "", func(w *world) {
		w.rds("r")
		w.route(plugin + ` virtual_hosts { domains: "svc" routes { match { prefix: "" } route { cluster_specifier_plugin: "p" } } }`)
		w.want("a plugin", "cluster_specifier_plugin:p:")
		if got := w.last.Plugins["cluster_specifier_plugin:p"].Name; got != "chooser" {
			t.Errorf("the policy is %q", got)
		}
		release := w.watcher.Subscribe("cluster_specifier_plugin:p")
		w.eds("a", "")
		w.endpoints("a", 1)
		w.route(hosts("a"))
		w.want("it is held", "a cluster_specifier_plugin:p: a=[10.0.0.1:1]"+quiet)
		release()
		w.want("it is not", "a: a=[10.0.0.1:1]"+quiet)
	})
}

// A missing resource fails only the calls that need it (A37, A74).
func TestAggregates(t *testing.T) {
	in(t, "", func(w *world) {
		w.listener(fmt.Sprintf("route_config { %s }", hosts("all", "all", "circle", "deep0")))
		w.aggregate("all", "a", "gone", "inner")
		w.aggregate("inner", "b", "a", "all")
		w.aggregate("circle", "circle")
		for i := range 17 {
			w.aggregate(fmt.Sprintf("deep%d", i), fmt.Sprintf("deep%d", i+1))
		}
		w.eds("deep17", "a")
		w.eds("a", "")
		w.eds("b", "")
		w.endpoints("a", 1)
		w.endpoints("b", 2)
		w.want("gone may still come")
		w.server.Delete(cluster.Type().URL(), "gone")
		w.elapse()
		const (
			gone   = `gone=(Cluster "gone": does not exist: the control plane did not send it in time after it was asked for [server memory, node n])`
			circle = `circle=(Cluster "circle": cluster: an aggregate cluster must come to a cluster that is there (A37) [server memory, node n])`
			deep   = `deep0=(Cluster "deep0": cluster: aggregate clusters must not be nested more than 16 deep (A37) [server memory, node n])`
			ab     = "a=[10.0.0.1:1]" + quiet + " all=a+b b=[10.0.0.1:2]" + quiet
		)
		w.want("gone is known not to be", "all circle deep0: "+ab+" "+circle+" "+deep+" "+gone)
		w.eds("gone", "b")
		w.want("it came after all", "all circle deep0: a=[10.0.0.1:1]"+quiet+" all=a+gone+b b=[10.0.0.1:2]"+quiet+" "+circle+" "+deep+" gone=[10.0.0.1:2]"+quiet)
	})
}

// The note of each cluster has the errors of the resources that it depends on (A88).
func TestNotes(t *testing.T) {
	in(t, "", func(w *world) {
		w.rds("r")
		w.route(hosts("a", "b"))
		w.eds("a", "")
		w.eds("b", "")
		w.endpoints("a", 1)
		w.endpoints("b", 2)
		w.want("all is well", "a b: a=[10.0.0.1:1]"+quiet+" b=[10.0.0.1:2]"+quiet)
		note := func(cluster string) string { return w.last.Clusters[cluster].Note.Error() }

		w.set(cluster.Type().URL(), "a", new(clusterv3.Cluster), `name: "a"`)
		synctest.Wait()
		bad := note("a")
		if bad == "xDS node ID: n" || note("b") != "xDS node ID: n" {
			t.Errorf("a bad version of a: its note is %q, b's %q", bad, note("b"))
		}
		w.set(endpoint.Type().URL(), "b", new(endpointv3.ClusterLoadAssignment), `cluster_name: "b" endpoints { load_balancing_weight { value: 1 } }`)
		synctest.Wait()
		if got := note("b"); !strings.HasPrefix(got, `ClusterLoadAssignment "b": `) || note("a") != bad {
			t.Errorf("a bad version of b's endpoints: the notes are %q and %q", note("a"), got)
		}
		w.endpoints("b", 2)
		w.set(route.Type().URL(), "r", new(routev3.RouteConfiguration), `name: "r" virtual_hosts { domains: "*" routes { match {} } }`)
		synctest.Wait()
		if got, other := note("a"), note("b"); got != bad+"; "+other || !strings.HasPrefix(other, `RouteConfiguration "r": `) {
			t.Errorf("a bad version of the routes: the notes are %q and %q", got, other)
		}
		w.route(hosts("a", "b"))
		w.server.Delete(listener.Type().URL(), "l")
		synctest.Wait()
		if got, other := note("a"), note("b"); got != bad+"; "+other || other == "xDS node ID: n" {
			t.Errorf("the listener is gone: the notes are %q and %q", got, other)
		}
		w.rds("r")
		w.eds("a", "")
		// One resource of each kind at a time has an invalid version. The notes of all clusters
		// that depend on it name this resource.
		for _, bad := range []struct {
			spoil, mend func()
			want        string
			clusters    string
		}{
			{func() { w.listener(`rds { config_source { ads {} } }`) }, func() { w.rds("r") }, `Listener "l": invalid`, "ab"},
			{func() { w.route(`virtual_hosts { domains: "svc" routes {} }`) }, func() { w.route(hosts("a", "b")) }, `RouteConfiguration "r": invalid`, "ab"},
			{func() { w.set(cluster.Type().URL(), "b", new(clusterv3.Cluster), `name: "b"`) }, func() { w.eds("b", "") }, `Cluster "b": invalid`, "b"},
			{func() {
				w.set(endpoint.Type().URL(), "a", new(endpointv3.ClusterLoadAssignment), `cluster_name: "a" endpoints { load_balancing_weight { value: 1 } }`)
			}, func() { w.endpoints("a", 1) }, `ClusterLoadAssignment "a": invalid`, "a"},
		} {
			bad.spoil()
			w.settle()
			for _, name := range []string{"a", "b"} {
				if got := note(name); strings.Contains(got, bad.want) != strings.Contains(bad.clusters, name) {
					t.Errorf("the note of cluster %s: %q; must have %q: %t", name, got, bad.want, strings.Contains(bad.clusters, name))
				}
			}
			bad.mend()
			w.settle()
			if note("a") != "xDS node ID: n" || note("b") != "xDS node ID: n" {
				t.Errorf("all is well again, but the notes are %q and %q", note("a"), note("b"))
			}
		}
		w.server.Disconnect(errors.New("broken"))
		w.server.Refuse(errors.New("broken"))
		w.elapse()
		const lost = `[server memory, node n]`
		if got := note("a"); len(got) < 200 || got[len(got)-len(lost):] != lost {
			t.Errorf("the control plane cannot be reached: %q", got)
		}
		w.server.Refuse(nil)
		w.elapse()
		if note("a") != "xDS node ID: n" {
			t.Errorf("all is well again, but the note is %q", note("a"))
		}
	})
}

func TestMissingEndpoints(t *testing.T) {
	in(t, "", func(w *world) {
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a", "b")))
		w.eds("a", "")
		w.eds("b", "")
		w.elapse()
		w.server.Delete(endpoint.Type().URL(), "a")
		w.want("there are none", `a b: a=[]{ClusterLoadAssignment "a": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]}`+
			` b=[]{ClusterLoadAssignment "b": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]}`)
	})
}

func TestLogicalDNS(t *testing.T) {
	in(t, "", func(w *world) {
		w.listener(fmt.Sprintf("route_config { %s }", hosts("d", "e")))
		w.logicalDNS("d", "d.example")
		w.logicalDNS("e", "e.example")
		w.want("no name is resolved yet")
		d, e := w.dns.resolvers["d.example:80"], w.dns.resolvers["e.example:80"]
		d.cc.ReportError(errors.New("no such host"))
		w.want("e has not come yet")
		e.addresses("10.0.0.1:80", "[::1]:80")
		const broken = `{name "d.example:80": no such host [node n]}`
		w.want("one cannot be resolved", "d e: d=[]"+broken+" e=[10.0.0.1:80,[::1]:80]"+quiet)
		if got := w.last.Clusters["e"].Localities[0].Endpoints; len(got) != 1 || got[0].Hostname() != "e.example:80" {
			t.Errorf("the endpoints are %+v; want one, with its hostname (A61, A81)", got)
		}
		d.addresses("10.0.0.2:80")
		w.want("now it can", "d e: d=[10.0.0.2:80]"+quiet+" e=[10.0.0.1:80,[::1]:80]"+quiet)
		d.cc.ReportError(errors.New("no such host"))
		w.want("addresses stay in use", "d e: d=[10.0.0.2:80]"+broken+" e=[10.0.0.1:80,[::1]:80]"+quiet)
		d.addresses()
		w.want("as they do when there are none", "d e: d=[10.0.0.2:80]"+`{name "d.example:80": has no address [node n]}`+" e=[10.0.0.1:80,[::1]:80]"+quiet)
		w.watcher.ResolveNow()
		synctest.Wait()
		if d.asked != 1 || e.asked != 1 {
			t.Errorf("resolved again %d and %d times", d.asked, e.asked)
		}
		w.listener(fmt.Sprintf("route_config { %s }", hosts("e")))
		w.want("one is left", "e: e=[10.0.0.1:80,[::1]:80]"+quiet)
		if d.closed != 1 || e.closed != 0 {
			t.Errorf("closed: %d and %d", d.closed, e.closed)
		}
	})
}

// A control plane cannot make a channel watch an unlimited number of resources.
func TestLimit(t *testing.T) {
	in(t, "", func(w *world) {
		news := make(chan error, 10)
		few := xdsconfig.New(w.client, xdsconfig.Options{
			Listener: "l", Authority: "svc", Limit: 2, DNS: w.dns, Deliver: func(_ *xdsconfig.Config, err error) { news <- err },
		})
		defer few.Close()
		few.Start()
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a", "b", "c")))
		for _, name := range []string{"a", "b", "c"} {
			w.eds(name, "e")
		}
		w.endpoints("e", 1)
		w.elapse()
		if err := <-news; err == nil || !strings.Contains(err.Error(), "than the limit allows: 2") {
			t.Errorf("three clusters where two are allowed: %v", err)
		}
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a", "b")))
		w.elapse()
		if err := <-news; err != nil {
			t.Errorf("two clusters: %v", err)
		}
	})
}
