package xdsconfig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

const listURL = "type.googleapis.com/envoy.config.endpoint.v3.LbEndpointCollection"

// collection returns the name of a list collection.
func collection(id string) string {
	return "xdstp://e/envoy.config.endpoint.v3.LbEndpointCollection/" + id
}

// localities sets an EDS resource with a locality for each collection. An empty name means an endpoint in the resource
// itself, with port 9.
func (w *world) localities(name string, collections ...string) {
	w.t.Helper()
	var b strings.Builder
	for i, c := range collections {
		at := fmt.Sprintf(`leds_cluster_locality_config { leds_config { self {} } leds_collection_name: %q }`, collection(c))
		if c == "" {
			at = "lb_endpoints { " + member(9) + " }"
		}
		fmt.Fprintf(&b, "endpoints { locality { zone: %q } load_balancing_weight { value: 1 } priority: %d %s } ", fmt.Sprint("z", i), i, at)
	}
	w.set(endpoint.Type().URL(), name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q %s`, name, b.String())
}

// member returns an endpoint.
func member(port int) string {
	return fmt.Sprintf(`endpoint { address { socket_address { address: "10.0.0.1" port_value: %d } } }`, port)
}

// inline returns an entry of a list.
func inline(name, member string) string {
	return fmt.Sprintf(`entries { inline_entry { name: %q resource { [type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint] { %s } } } }`, name, member)
}

// list sets a list collection.
func (w *world) list(id string, entries ...string) {
	w.t.Helper()
	m := new(endpointv3.LbEndpointCollection)
	if err := prototext.Unmarshal([]byte(strings.Join(entries, " ")), m); err != nil {
		w.t.Fatal(err)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.server.Set(listURL, memoryads.Resource{Name: collection(id), Body: body, Wrapped: true})
}

// ports returns entries without names.
func ports(ports ...int) (entries []string) {
	for _, p := range ports {
		entries = append(entries, inline("", member(p)))
	}
	return entries
}

// listed starts a world with one cluster, whose endpoints are in the given collections.
func listed(t *testing.T, collections []string, test func(*world)) {
	t.Helper()
	in(t, "", func(w *world) {
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a")))
		w.eds("a", "")
		w.localities("a", collections...)
		test(w)
	})
}

// The endpoints of a locality come from its list collection, in the order of the list. A configuration waits for all lists
// (A74, A95).
func TestEndpointsOfLists(t *testing.T) {
	listed(t, []string{"one", "", "two"}, func(w *world) {
		w.list("one", ports(3, 1, 2)...)
		w.want("a list has not come yet")
		if err := w.watcher.Pending(); err == nil || !strings.Contains(err.Error(), `LbEndpointCollection "`+collection("two")) {
			t.Errorf("the pending resource is %v; want the second list", err)
		}
		w.list("two", inline("b", member(5)), inline("a", member(4)))
		w.want("both lists are known", "a: a=[10.0.0.1:3,10.0.0.1:1,10.0.0.1:2,10.0.0.1:9,10.0.0.1:5,10.0.0.1:4]"+quiet)
		w.list("one", ports(2, 7)...)
		w.want("a list changes", "a: a=[10.0.0.1:2,10.0.0.1:7,10.0.0.1:9,10.0.0.1:5,10.0.0.1:4]"+quiet)
		w.list("two")
		w.want("a list is empty", "a: a=[10.0.0.1:2,10.0.0.1:7,10.0.0.1:9]"+quiet)
		if got := w.last.Clusters["a"].Localities; len(got) != 3 || got[2].Priority != 2 || len(got[2].Endpoints) != 0 {
			t.Errorf("the localities are %+v; want an empty one of priority 2", got)
		}
		w.localities("a", "two", "")
		w.want("a list is no longer needed", "a: a=[10.0.0.1:9]"+quiet)
		if got, want := w.subscribed(), "a a l "+collection("two"); got != want {
			t.Errorf("subscribed to %q; want %q", got, want)
		}
	})
}

// A list that is missing or invalid leaves its locality without endpoints. The note of the cluster has the reason. An invalid
// change leaves the last endpoints in use (A88, A95).
func TestListsThatAreNotUsable(t *testing.T) {
	listed(t, []string{"one", ""}, func(w *world) {
		w.elapse()
		w.want("the list does not come", `a: a=[10.0.0.1:9]{LbEndpointCollection "`+collection("one")+`": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]}`)
		w.list("one", ports(1)...)
		w.want("it came", "a: a=[10.0.0.1:1,10.0.0.1:9]"+quiet)
		before := w.last.Clusters["a"].Localities
		w.list("one", inline("x", member(2)), inline("y", "endpoint {}"))
		w.settle()
		w.contains("an endpoint is invalid", "a=[10.0.0.1:1,10.0.0.1:9]{", "entries[1].endpoint.address; must be set (A27)")
		if &before[0] != &w.last.Clusters["a"].Localities[0] {
			t.Error("an ambient error replaces the localities")
		}
		w.list("one", inline("x", member(2)), `entries { locator { scheme: XDSTP authority: "e" resource_type: "envoy.config.endpoint.v3.LbEndpoint" id: "far" } }`)
		w.settle()
		w.contains("an endpoint is located elsewhere", "a=[10.0.0.1:9]{", "entries.inline_entry = missing")
		w.list("one", ports(2, 9)...)
		w.settle()
		w.contains("an address is used twice", "a=[10.0.0.1:2,10.0.0.1:9]{", "addresses must be unique (A27)")
		w.list("one", inline("x", member(2)+"load_balancing_weight { value: 4294967295 }"), inline("y", member(3)))
		w.settle()
		w.contains("the weights are too high", "a=[10.0.0.1:9]{", "the sum must not be above 4294967295")
		w.list("one", inline("x", member(2)+"load_balancing_weight { value: 4294967294 }"), inline("y", member(3)))
		w.want("the weights are as high as possible", "a: a=[10.0.0.1:2,10.0.0.1:3,10.0.0.1:9]"+quiet)
		w.list("one", ports(2)...)
		w.want("the list is valid again", "a: a=[10.0.0.1:2,10.0.0.1:9]"+quiet)
	})
}

// contains checks the parts of the only configuration since the last check.
func (w *world) contains(why string, parts ...string) {
	w.t.Helper()
	if len(w.news) != 1 {
		w.t.Fatalf("%s: %d configurations; want one", why, len(w.news))
	}
	got := <-w.news
	for _, part := range parts {
		if !strings.Contains(got, part) {
			w.t.Errorf("%s: the configuration is %s; want it to contain %s", why, got, part)
		}
	}
}

// All properties of an endpoint are those of an EDS resource.
func TestMembersAreEndpoints(t *testing.T) {
	const text = `health_status: DRAINING load_balancing_weight { value: 7 }
		metadata { filter_metadata { key: "envoy.lb" value { fields { key: "hash_key" value { string_value: "k" } } } } }
		endpoint { hostname: "h" address { socket_address { address: "::1" port_value: 2 } } additional_addresses { address { socket_address { address: "10.0.0.1" port_value: 2 } } } }`
	listed(t, []string{"one"}, func(w *world) {
		w.list("one", inline("", text), inline("", member(5)))
		w.settle()
		all := w.last.Clusters["a"].Localities[0].Endpoints
		if len(all) != 2 || all[1].Details != nil || all[1].Weight != 1 {
			t.Fatalf("the endpoints are %+v", all)
		}
		e := all[0]
		if got := slices.Collect(e.Addresses()); !slices.Equal(got, []string{"[::1]:2", "10.0.0.1:2"}) {
			t.Errorf("the addresses are %q", got)
		}
		if e.Health != endpoint.HealthDraining || e.Weight != 7 || e.HashKey() != "k" || e.Hostname() != "h" {
			t.Errorf("the endpoint is %+v", e)
		}
	})
}

// The lists of all clusters of a target are limited like its clusters.
func TestLimitOfLists(t *testing.T) {
	listed(t, names("l", 6), func(w *world) {
		w.watcher.Close()
		limited, news := w.limited(w.client, 5)
		defer limited.Close()
		limited.Start()
		w.settle()
		const want = ": error: xdsconfig: the endpoints of clusters are in more list collections than the limit allows: 5"
		if len(news) != 1 {
			t.Fatalf("%d configurations; want one", len(news))
		}
		if got := <-news; got != want {
			t.Errorf("the configuration is %q; want %q", got, want)
		}
	})
}

// A list that a limit had cut off has its newest endpoints when it comes back, although the EDS resource is the same.
func TestListsAfterALimit(t *testing.T) {
	in(t, "", func(w *world) {
		w.watcher.Close()
		w.listener(fmt.Sprintf("route_config { %s }", hosts("z", "a")))
		w.eds("z", "")
		w.eds("a", "")
		w.localities("z", "")
		w.localities("a", "one", "two")
		w.list("one", ports(1)...)
		w.list("two", ports(2)...)
		w.list("three", ports(3)...)
		limited, news := w.limited(w.client, 2)
		defer limited.Close()
		limited.Start()
		w.settle()
		if got := <-news; !strings.Contains(got, "a=[10.0.0.1:1,10.0.0.1:2]") {
			t.Errorf("the configuration is %s; want the endpoints of both lists", got)
		}
		w.localities("z", "three")
		w.settle()
		if got := <-news; !strings.Contains(got, "more list collections than the limit allows: 2") {
			t.Errorf("the configuration is %s; want the error of the limit", got)
		}
		w.list("two", ports(4)...)
		w.localities("z", "")
		w.settle()
		if got := <-news; !strings.Contains(got, "a=[10.0.0.1:1,10.0.0.1:4]") {
			t.Errorf("the configuration is %s; want the newest endpoints", got)
		}
	})
}

// A client has the feature only if it has the type (A95).
func TestFeatureOfLists(t *testing.T) {
	first, err := resource.NewSet(resource.Describe(lbendpoint.Type()))
	if err != nil {
		t.Fatal(err)
	}
	if got := xdsconfig.ClientFeatures(first); len(got) != 1 {
		t.Errorf("the features with the type alone are %q; want one", got)
	}
	for _, with := range []bool{true, false} {
		reg := registry.New()
		standard.Register(reg)
		var want []string
		if with {
			lbendpoint.Register(reg)
			want = []string{"xds.endpoint.supports_lb_endpoint_collection"}
		}
		types, err := reg.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		if got := xdsconfig.ClientFeatures(types); !slices.Equal(got, want) {
			t.Errorf("the features are %q; want %q", got, want)
		}
	}
}
