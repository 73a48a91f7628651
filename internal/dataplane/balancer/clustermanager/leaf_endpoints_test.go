package clustermanager

import (
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

var m0 = time.Unix(1_000_000, 0)

func TestByPriority(t *testing.T) {
	got := byPriority([]endpoint.Locality{
		{Priority: 1, ID: endpoint.LocalityID{Zone: "c"}},
		{Priority: 0, ID: endpoint.LocalityID{Zone: "a"}},
		{Priority: 1, ID: endpoint.LocalityID{Zone: "d"}},
		{Priority: 0, ID: endpoint.LocalityID{Zone: "b"}},
	})
	var order string
	for _, p := range got {
		for _, l := range p {
			order += l.ID.Zone
		}
		order += "|"
	}
	if order != "ab|cd|" {
		t.Errorf("priorities are %s, want ab|cd|", order)
	}
}

func TestUsableEndpoints(t *testing.T) {
	e := func(addr string, h endpoint.Health) endpoint.Endpoint {
		e := endpoint.New(addr)
		e.Health, e.Weight = h, 2
		return e
	}
	got := newDialer(nil, false).localities([]*endpoint.Locality{
		{Weight: 5, Endpoints: []endpoint.Endpoint{
			e("unknown", endpoint.HealthUnknown), e("draining", endpoint.HealthDraining), e("healthy", endpoint.HealthHealthy),
		}},
		{Weight: 6, Endpoints: []endpoint.Endpoint{e("unhealthy", endpoint.HealthUnhealthy), e("other", 77)}},
		{Weight: 7},
	}, false)
	if len(got) != 1 || got[0].Weight != 5 || len(got[0].Endpoints) != 2 ||
		got[0].Endpoints[0].Key() != "unknown" || got[0].Endpoints[1].Key() != "healthy" || got[0].Endpoints[1].Weight != 2 {
		t.Errorf("to pick from: %+v; must be unknown and healthy of the first locality", got)
	}
}

// Addresses have the TLS of their cluster. It stays the same when the cluster changes, so that the
// connections stay too.
func TestAddresses(t *testing.T) {
	providers, err := security.NewProviders(new(bootstrap.Config), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer providers.Close()
	tls := providers.Cluster()
	l := &endpoint.Locality{Weight: 1, Endpoints: []endpoint.Endpoint{endpoint.New("a", "b"), endpoint.New("c"), endpoint.New("d")}}
	l.Endpoints[1].Details = &endpoint.Details{Hostname: "host"}
	l.Endpoints[2].Details = &endpoint.Details{Metadata: map[string]resource.Metadatum{
		"envoy.http11_proxy_transport_socket.proxy_address": {Value: netip.MustParseAddrPort("10.0.0.1:3128")},
	}}
	first := newDialer(tls, true).localities([]*endpoint.Locality{l}, false)[0].Endpoints
	again := newDialer(tls, true).localities([]*endpoint.Locality{l}, false)[0].Endpoints
	for i := range first {
		for j, a := range first[i].Addresses {
			if !a.Equal(again[i].Addresses[j]) {
				t.Errorf("%v is another address the next time", a)
			}
			if a.Attributes == nil {
				t.Errorf("%v has nothing that secures it", a)
			}
		}
	}
	if want := security.WithCluster(resolver.Address{Addr: "c"}, tls, "host"); !first[1].Addresses[0].Equal(want) {
		t.Errorf("%v must have its hostname", first[1].Addresses[0])
	}
	if a := security.ThroughProxies(first[2].Addresses)[0]; a.Addr != "10.0.0.1:3128" || first[2].Addresses[0].Addr != "d" {
		t.Errorf("%v, of %v; must lead through the proxy", a, first[2].Addresses[0])
	}
	if a := newDialer(nil, false).localities([]*endpoint.Locality{l}, false)[0].Endpoints[2].Addresses[0]; a.Addr != "d" || a.Attributes != nil {
		t.Errorf("%v; must lead to the endpoint, as the cluster wants no proxies", a)
	}
}

// TestUnchangedEndpointsAreTheSame expects a configuration to get the endpoints of the last one, except for the changed
// ones. Policies compare them by their pointers.
func TestUnchangedEndpointsAreTheSame(t *testing.T) {
	d := newDialer(nil, false)
	of := func(addrs ...string) []*lbtree.Endpoint {
		l := endpoint.Locality{Weight: 1}
		for _, a := range addrs {
			l.Endpoints = append(l.Endpoints, endpoint.New(a))
		}
		return d.priorities([][]*endpoint.Locality{{&l}})[0][0].Endpoints
	}
	first := of("a", "b", "c", "d")
	for _, next := range [][]string{{"a", "x", "c", "d"}, {"a", "c", "d"}, {"y", "a", "c", "d"}} {
		last, got := first, of(next...)
		for i, addr := range next {
			was := slices.IndexFunc(last, func(e *lbtree.Endpoint) bool { return e.Addresses[0].Addr == addr })
			if got[i].Addresses[0].Addr != addr || was >= 0 && got[i] != last[was] {
				t.Errorf("%v: endpoint %d is %v; want that of the last configuration", next, i, got[i])
			}
		}
		first = got
	}
}

// TestMemoryOfDrainingEndpoints expects a draining endpoint to take memory for itself, and not for all endpoints of its locality.
func TestMemoryOfDrainingEndpoints(t *testing.T) {
	const endpoints = 1000
	l := endpoint.Locality{Weight: 1}
	for i := range endpoints {
		l.Endpoints = append(l.Endpoints, endpoint.New(strconv.Itoa(i)))
	}
	l.Endpoints[endpoints/2].Health = endpoint.HealthDraining
	const runs = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		got := newDialer(nil, false).localities([]*endpoint.Locality{&l}, true)
		if len(got) != 1 || len(got[0].Endpoints) != 1 {
			t.Fatalf("draining endpoints: %v; want one", got)
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / runs; got == 0 || got > 8*endpoints {
		t.Errorf("one draining endpoint of %d takes %d bytes; want at most %d", endpoints, got, 8*endpoints)
	}
}
