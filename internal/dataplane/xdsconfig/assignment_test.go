package xdsconfig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// assigned publishes a cluster with endpoints of its own.
func (w *world) assigned(name, kind, endpoints string) {
	w.t.Helper()
	w.set(cluster.Type().URL(), name, new(clusterv3.Cluster), `name: %q type: %s load_assignment { cluster_name: %q %s }`, name, kind, name, endpoints)
}

// at is an endpoint with more fields of its LbEndpoint.
func at(host string, port int, more string) string {
	return fmt.Sprintf(`lb_endpoints { endpoint { address { socket_address { address: %q port_value: %d } } } %s } `, host, port, more)
}

// TestAssignments expects the endpoints of clusters that have them in their own resource.
func TestAssignments(t *testing.T) {
	inProfile(t, resource.HTTP, "", func(w *world) {
		w.listener(`route_config { virtual_hosts { name: "x" domains: "x" routes { match { prefix: "" } route { cluster: "fixed" } } }
			virtual_hosts { name: "y" domains: "y" routes { match { prefix: "" } route { cluster: "dns" } } } }`)
		w.assigned("fixed", "STATIC", `endpoints { `+at("10.0.0.1", 1, "")+at("10.0.0.1", 2, "")+` }`)
		w.assigned("dns", "STRICT_DNS", `endpoints { priority: 0 locality { region: "r" } `+
			at("a.example", 1, `load_balancing_weight { value: 7 } health_status: HEALTHY`)+at("b.example", 2, "")+` } endpoints { priority: 1 `+at("a.example", 1, "")+` }`)
		w.want("the names are not resolved")
		w.dns.resolvers["a.example:1"].addresses("1.1.1.1:1", "1.1.1.2:1")
		w.want("one name is resolved")
		w.dns.resolvers["b.example:2"].addresses("1.1.1.2:1", "2.2.2.2:2", "2.2.2.2:2")
		const fixed = "dns fixed: %s fixed=[10.0.0.1:1,10.0.0.1:2]{xDS node ID: n}"
		w.want("both names are resolved", fmt.Sprintf(fixed, "dns=[1.1.1.1:1,1.1.1.2:1,2.2.2.2:2]{xDS node ID: n}"))
		if n := len(slices.Collect(w.last.VirtualHosts())); n != 2 || w.last.VirtualHost != nil {
			t.Errorf("calls can use %d virtual hosts, and %v; want both", n, w.last.VirtualHost)
		}
		localities := w.last.Clusters["dns"].Localities
		if len(localities) != 2 || len(localities[0].Endpoints) != 3 || len(localities[1].Endpoints) != 0 || localities[1].Priority != 1 || localities[0].ID.Region != "r" {
			t.Fatalf("the localities are %+v, want three endpoints in the first one", localities)
		}
		for i, want := range []string{"a.example:1, weight 7, HEALTHY", "a.example:1, weight 7, HEALTHY", "b.example:2, weight 1, UNKNOWN"} {
			e := &localities[0].Endpoints[i]
			if got := fmt.Sprintf("%s, weight %d, %v", e.Hostname(), e.Weight, e.Health); got != want {
				t.Errorf("endpoint %d is %s, want %s", i, got, want)
			}
		}

		w.dns.resolvers["b.example:2"].addresses()
		w.want("a name loses its addresses", fmt.Sprintf(fixed, `dns=[1.1.1.1:1,1.1.1.2:1,2.2.2.2:2]{name "b.example:2": has no address [node n]}`))
		w.dns.resolvers["a.example:1"].addresses("3.3.3.3:3")
		w.want("a name has another address", fmt.Sprintf(fixed, `dns=[3.3.3.3:3,1.1.1.2:1,2.2.2.2:2]{name "b.example:2": has no address [node n]}`))
		w.assigned("fixed", "STATIC", `endpoints { `+at("10.0.0.2", 1, "")+` }`)
		w.want("other endpoints", strings.Replace(fmt.Sprintf(fixed, `dns=[3.3.3.3:3,1.1.1.2:1,2.2.2.2:2]{name "b.example:2": has no address [node n]}`),
			"10.0.0.1:1,10.0.0.1:2", "10.0.0.2:1", 1))
	})
}

// TestNamesOfOneCluster expects a cluster with 1,000 names to be resolved, and one with more to be unusable.
func TestNamesOfOneCluster(t *testing.T) {
	inProfile(t, resource.HTTP, "", func(w *world) {
		w.listener(`route_config { virtual_hosts { name: "x" domains: "x" routes { match { prefix: "" } route { cluster: "dns" } } } }`)
		var names strings.Builder
		for i := range 1000 {
			names.WriteString(at(fmt.Sprintf("n%d.example", i), 1, ""))
		}
		w.assigned("dns", "STRICT_DNS", `endpoints { `+names.String()+` }`)
		w.want("1000 names that are not resolved")
		if n := len(w.dns.resolvers); n != 1000 {
			t.Errorf("%d names are resolved, want 1000", n)
		}
		w.assigned("dns", "STRICT_DNS", `endpoints { `+names.String()+` } endpoints { priority: 1 `+at("one.example", 1, "")+` }`)
		w.want("1001 names", "dns: dns=(xdsconfig: the cluster has more than 1000 DNS names)")
		for name, r := range w.dns.resolvers {
			if r.closed != 1 {
				t.Fatalf("the resolver of %s was closed %d times, want once", name, r.closed)
			}
		}
	})
}

// TestNoLocality expects the reason for a cluster without endpoints to be in the note of the cluster.
func TestNoLocality(t *testing.T) {
	in(t, "", func(w *world) {
		w.listener(`route_config { ` + hosts("a") + ` }`)
		w.eds("a", "x")
		w.set(endpoint.Type().URL(), "x", new(endpointv3.ClusterLoadAssignment), `cluster_name: "x"`)
		w.want("no locality", `a: a=[]{ClusterLoadAssignment "x": has no locality with weight [server memory, node n]}`)
	})
}

// TestResolvedEndpoints expects the addresses of all endpoints that a resolver of gRPC returns.
func TestResolvedEndpoints(t *testing.T) {
	in(t, "", func(w *world) {
		w.listener(`route_config { ` + hosts("a") + ` }`)
		w.logicalDNS("a", "a.example")
		w.want("not resolved")
		address := func(s string) resolver.Address { return resolver.Address{Addr: s} }
		err := w.dns.resolvers["a.example:80"].cc.UpdateState(resolver.State{
			Addresses: []resolver.Address{address("9.9.9.9:9")},
			Endpoints: []resolver.Endpoint{{Addresses: []resolver.Address{address("1.1.1.1:1"), address("2.2.2.2:2")}}, {Addresses: []resolver.Address{address("3.3.3.3:3")}}},
		})
		if err != nil {
			t.Error(err)
		}
		w.want("endpoints", "a: a=[1.1.1.1:1,2.2.2.2:2,3.3.3.3:3]{xDS node ID: n}")
	})
}

// TestCheckListener checks the names that a template may make.
func TestCheckListener(t *testing.T) {
	c, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "insecure"}]}], "authorities": {"e": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"server/1": "",
		"xdstp://e/envoy.config.listener.v3.Listener/1":       "",
		"xdstp://e/envoy.config.cluster.v3.Cluster/1":         `the bootstrap's template makes the name "xdstp://e/envoy.config.cluster.v3.Cluster/1": `,
		"xdstp://unknown/envoy.config.listener.v3.Listener/1": `bootstrap: authorities["unknown"] = missing`,
	} {
		name, err := xdstp.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := xdsconfig.CheckListener(c, name); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
