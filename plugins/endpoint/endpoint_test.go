package endpoint_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unsafe"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestCases(t *testing.T) {
	plugincase.Run(t, endpoint.Type(), func() proto.Message { return new(endpointv3.ClusterLoadAssignment) })
}

// TestKit runs the conformance kit on a resource that sets every field.
func TestKit(t *testing.T) {
	plugincase.Kit(t, plugintest.Plugin{
		Type: endpoint.Type(), NameField: "cluster_name",
		Message: func() proto.Message { return new(endpointv3.ClusterLoadAssignment) },
	}, "testdata/full")
}

func decode(t *testing.T, text string) *endpoint.Update {
	t.Helper()
	return plugincase.Read[*endpoint.Update](t, endpoint.Type(), new(endpointv3.ClusterLoadAssignment), text)
}

func TestDropsHaveEveryDenominator(t *testing.T) {
	u := decode(t, `cluster_name: "c" policy {
		drop_overloads { category: "a" drop_percentage { numerator: 3 } }
		drop_overloads { category: "b" drop_percentage { numerator: 3 denominator: TEN_THOUSAND } }
		drop_overloads { category: "c" drop_percentage { numerator: 3 denominator: MILLION } }
		drop_overloads { category: "d" drop_percentage { numerator: 101 } } }`)
	want := []endpoint.Drop{{Category: "a", PerMillion: 30_000}, {Category: "b", PerMillion: 300}, {Category: "c", PerMillion: 3}, {Category: "d", PerMillion: 1_000_000}}
	if diff := cmp.Diff(want, u.Drops); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Profile Envoy keeps localities without weight. Profile gRPC drops them.
func TestUnweightedLocalities(t *testing.T) {
	m := new(endpointv3.ClusterLoadAssignment)
	const text = `cluster_name: "c" endpoints { locality { zone: "a" } } endpoints { locality { zone: "b" } load_balancing_weight { value: 3 } }`
	if u := decode(t, text); len(u.Localities) != 1 {
		t.Errorf("profile gRPC keeps %+v", u.Localities)
	}
	u := plugincase.Read[*endpoint.Update](t, endpoint.Type(), m, text, plugincase.Profile(resource.Envoy))
	if len(u.Localities) != 2 || u.Localities[0].Weight != 0 || u.Localities[1].Weight != 3 {
		t.Errorf("profile Envoy keeps %+v", u.Localities)
	}
}

// The priorities of localities have no gap, however many localities there are (A27).
func TestPriorities(t *testing.T) {
	for _, c := range []struct {
		count, last int // priorities 0, 1, … of all localities but the last one
		want        bool
	}{
		{1, 0, true},
		{2, 1, true},
		{2, 2, false},
		{1, 1, false},
		{2, 63, false},
		{2, 64, false},
		{2, 128, false},
		{64, 63, true},
		{64, 64, false},
		{65, 64, true},
		{65, 65, false},
		{100, 99, true},
		{100, 128, false},
	} {
		var b strings.Builder
		b.WriteString(`cluster_name: "c" `)
		for i := range c.count {
			priority := i
			if i == c.count-1 {
				priority = c.last
			}
			fmt.Fprintf(&b, `endpoints { locality { zone: "%d" } load_balancing_weight { value: 1 } priority: %d } `, i, priority)
		}
		m := new(endpointv3.ClusterLoadAssignment)
		if err := prototext.Unmarshal([]byte(b.String()), m); err != nil {
			t.Fatal(err)
		}
		_, err := plugincase.Decode(t, endpoint.Type(), m)
		if (err == nil) != c.want || err != nil && !strings.Contains(err.Error(), "must not leave out a lower number (A27)") {
			t.Errorf("%d localities, the last one with priority %d: %v; want accepted: %t", c.count, c.last, err, c.want)
		}
	}
}

// The decoder drops the endpoints of a locality that has a list collection (A95).
func TestCollection(t *testing.T) {
	u := decode(t, `cluster_name: "c" endpoints { locality { zone: "a" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" port_value: 2 } } } }
		leds_cluster_locality_config { leds_config { self { } } leds_collection_name: "xdstp://e/envoy.config.endpoint.v3.LbEndpointCollection/c?b=1&a=2" } }`)
	if l := u.Localities[0]; l.Collection != "xdstp://e/envoy.config.endpoint.v3.LbEndpointCollection/c?a=2&b=1" || l.Endpoints != nil {
		t.Errorf("the locality is %+v", l)
	}
}

// TestEndpoints checks the fields of endpoints, and that they inherit the locality's proxy.
func TestEndpoints(t *testing.T) {
	const proxy = `typed_filter_metadata { key: "envoy.http11_proxy_transport_socket.proxy_address" value { [type.googleapis.com/envoy.config.core.v3.Address] { socket_address { address: "10.0.0.9" port_value: 3128 } } } }`
	u := decode(t, `cluster_name: "c"
		endpoints { locality { zone: "none" } lb_endpoints { } }
		endpoints { locality { zone: "a" } load_balancing_weight { value: 1 } metadata { `+proxy+` }
			lb_endpoints { health_status: DEGRADED endpoint { hostname: "h" address { socket_address { address: "::1" port_value: 2 } } additional_addresses { address { socket_address { address: "10.0.0.1" port_value: 2 } } } }
				metadata { filter_metadata { key: "envoy.lb" value { fields { key: "hash_key" value { string_value: "k" } } } } } }
			lb_endpoints { health_status: DRAINING endpoint { address { socket_address { address: "10.0.0.2" port_value: 2 } } }
				metadata { filter_metadata { key: "envoy.lb" value { fields { key: "hash_key" value { number_value: 1 } } } } `+strings.ReplaceAll(proxy, "10.0.0.9", "10.0.0.8")+` } } }
		endpoints { locality { zone: "b" } load_balancing_weight { value: 1 } lb_endpoints { endpoint { address { socket_address { address: "10.0.0.3" port_value: 2 } } } } }`)
	if len(u.Localities) != 2 {
		t.Fatalf("%d localities; want only the two with weight", len(u.Localities))
	}
	a, b := &u.Localities[0], &u.Localities[1]
	first, second := &a.Endpoints[0], &a.Endpoints[1]
	if diff := cmp.Diff([]string{"[::1]:2", "10.0.0.1:2"}, slices.Collect(first.Addresses())); diff != "" || first.Hostname() != "h" || first.HashKey() != "k" || first.Weight != 1 {
		t.Errorf("first endpoint = %+v", first)
	}
	if first.Health != endpoint.HealthUnhealthy || second.Health != endpoint.HealthDraining || second.HashKey() != "" {
		t.Errorf("health %v, %v; hash key %q", first.Health, second.Health, second.HashKey())
	}
	ofLocality, ofEndpoint := netip.MustParseAddrPort("10.0.0.9:3128"), netip.MustParseAddrPort("10.0.0.8:3128")
	if a.Proxy(first) != ofLocality || a.Proxy(second) != ofEndpoint || b.Proxy(&b.Endpoints[0]).IsValid() {
		t.Errorf("proxies %v, %v, %v", a.Proxy(first), a.Proxy(second), b.Proxy(&b.Endpoints[0]))
	}
}

// Profile Envoy leaves out addresses that are not socket addresses.
func TestEnvoyAddresses(t *testing.T) {
	m := new(endpointv3.ClusterLoadAssignment)
	u := plugincase.Read[*endpoint.Update](t, endpoint.Type(), m, `cluster_name: "c" endpoints {
		lb_endpoints { endpoint { address { envoy_internal_address { server_listener_name: "main" endpoint_id: "10.0.0.1:80" } } } }
		lb_endpoints { endpoint { address { pipe { path: "/s" } } additional_addresses { address { socket_address { address: "10.0.0.2" port_value: 80 } } } } }
		lb_endpoints { endpoint { address { pipe { path: "/s" } } hostname: "h" } } }`, plugincase.Profile(resource.Envoy))
	e := u.Localities[0].Endpoints
	if len(e) != 3 || e[2].Address() != "" || e[2].Hostname() != "h" || e[0].Address() != "" || !slices.Equal(slices.Collect(e[1].Addresses()), []string{"10.0.0.2:80"}) {
		t.Errorf("endpoints %+v", e)
	}
}

// Only endpoints with further properties have details. An endpoint whose other addresses are all
// omitted has none.
func TestDetails(t *testing.T) {
	m := new(endpointv3.ClusterLoadAssignment)
	u := plugincase.Read[*endpoint.Update](t, endpoint.Type(), m, `cluster_name: "c" endpoints {
		lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" port_value: 80 } } } }
		lb_endpoints { endpoint { address { socket_address { address: "10.0.0.2" port_value: 80 } } additional_addresses { address { pipe { path: "/s" } } } } }
		lb_endpoints { endpoint { hostname: "h" address { socket_address { address: "10.0.0.3" port_value: 80 } } } } }`, plugincase.Profile(resource.Envoy))
	for i, want := range []*endpoint.Details{nil, nil, {Hostname: "h"}} {
		e := &u.Localities[0].Endpoints[i]
		if diff := cmp.Diff(want, e.Details); diff != "" {
			t.Errorf("endpoint %d has these details (-want +got):\n%s", i, diff)
		}
	}
}

// An endpoint takes 32 bytes. A client may have many.
func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(endpoint.Endpoint{}); size > 32 && unsafe.Sizeof(uintptr(0)) == 8 {
		t.Errorf("an endpoint takes %d bytes; want at most 32", size)
	}
}

// TestNew makes endpoints without a resource, of which one has no address.
func TestNew(t *testing.T) {
	for _, addresses := range [][]string{nil, {"10.0.0.1:80"}, {"10.0.0.1:80", "[::1]:80"}} {
		e := endpoint.New(addresses...)
		if got := slices.Collect(e.Addresses()); !slices.Equal(got, addresses) || e.Weight != 1 || (e.Details != nil) != (len(addresses) > 1) {
			t.Errorf("a new endpoint has the addresses %q, weight %d and details %v; want %q, 1 and details for more addresses only", got, e.Weight, e.Details, addresses)
		}
	}
}
