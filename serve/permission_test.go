package serve_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/testca"
	"github.com/xdsforge/xdsforge/serve"
)

const cart = "spiffe://example.com/ns/shop/sa/cart"

func ca(t testing.TB) *testca.CA {
	t.Helper()
	c, err := testca.New("clients")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func allow(client, types, authorities string) serve.Permission {
	return serve.Permission{Clients: []string{client}, Types: []string{types}, Authorities: []string{authorities}}
}

// errorsOf returns the codes of resource errors by name.
func errorsOf(list []*discoveryv3.ResourceError) string {
	byName := make(map[string]codes.Code)
	for _, e := range list {
		byName[e.GetResourceName().GetName()] = codes.Code(e.GetErrorDetail().GetCode())
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		fmt.Fprintf(&b, "%s: %v\n", name, byName[name])
	}
	return b.String()
}

// A delta client receives the resources for which it has permission, and one error for each other
// name. It receives the error again if it subscribes again.
func TestPermissionsDelta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := ca(t)
		b := newBench(t, authority, serve.WithPermissions(allow("spiffe://example.com/ns/shop/*", "envoy.config.cluster.v3.Cluster", "")))
		b.put(b.main, "a", "one")
		b.put(b.east, eastern, "secret")
		s := b.delta(b.dial(cart))
		send := func(r *discoveryv3.DeltaDiscoveryRequest) {
			t.Helper()
			if err := s.Send(r); err != nil {
				t.Fatal(err)
			}
		}
		receive := func() *discoveryv3.DeltaDiscoveryResponse {
			t.Helper()
			r, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		want := eastern + ": PermissionDenied\n"
		send(&discoveryv3.DeltaDiscoveryRequest{Node: node("n"), TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a", eastern}})
		var names, errs string
		for names == "" || errs == "" {
			r := receive()
			for _, x := range r.GetResources() {
				names += x.GetName()
			}
			errs += errorsOf(r.GetResourceErrors())
			send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r.GetNonce()})
		}
		if names != "a" || errs != want {
			t.Errorf("resources %q, errors %q; want a and %q", names, errs, want)
		}
		b.put(b.east, eastern, "more secret")
		b.put(b.main, "a", "two")
		if r := receive(); len(r.GetResources()) != 1 || len(r.GetResourceErrors()) != 0 {
			t.Errorf("after a change: %v; want the change of a alone", r)
		}
		pass(time.Second)
		for c := range b.server.Clients() {
			if c.Identity.SPIFFE != cart || c.Types[0].Names != 1 || c.Types[0].Refused != 1 {
				t.Errorf("client = %+v, want %s with one name and one refused name", c, cart)
			}
		}
		send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{eastern}})
		if r := receive(); errorsOf(r.GetResourceErrors()) != want {
			t.Errorf("errors after another subscription: %v, want %q", r, want)
		}
	})
}

// A state-of-the-world client receives an error once, beside all resources for which it has
// permission.
func TestPermissionsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := ca(t)
		b := newBench(t, authority, serve.WithPermissions(allow("dns:*.example.com", "*", "")))
		b.put(b.main, "a", "one")
		s := b.whole(b.dial(cart))
		var last *discoveryv3.DiscoveryResponse
		ask := func(names ...string) *discoveryv3.DiscoveryResponse {
			t.Helper()
			r := &discoveryv3.DiscoveryRequest{Node: node("n"), TypeUrl: clusterURL, ResourceNames: names, ResponseNonce: last.GetNonce(), VersionInfo: last.GetVersionInfo()}
			if err := s.Send(r); err != nil {
				t.Fatal(err)
			}
			var err error
			if last, err = s.Recv(); err != nil {
				t.Fatal(err)
			}
			return last
		}
		want := eastern + ": PermissionDenied\n"
		if r := ask("a", eastern); len(r.GetResources()) != 1 || errorsOf(r.GetResourceErrors()) != want {
			t.Errorf("first response %v; want a and %q", r, want)
		}
		if r := ask("a", eastern, "b"); len(r.GetResources()) != 1 || len(r.GetResourceErrors()) != 0 {
			t.Errorf("second response %v; want a alone", r)
		}
		other := eastern + "2"
		if r := ask(eastern, other); len(r.GetResources()) != 0 || errorsOf(r.GetResourceErrors()) != other+": PermissionDenied\n" {
			t.Errorf("third response %v; want the error of %s alone", r, other)
		}
	})
}

// The stream of a client without any permission ends, and so does that of a client without a
// certificate.
func TestNoPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := ca(t)
		b := newBench(t, authority, serve.WithPermissions(allow("verified", "*", "*"), allow("spiffe://example.org/*", "*", "*")))
		if _, err := b.delta(b.dial("")).Recv(); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "anonymous") {
			t.Errorf("without a certificate: %v, want PERMISSION_DENIED for anonymous", err)
		}
		b = newBench(t, authority, serve.WithPermissions(allow("spiffe://example.org/*", "*", "*")))
		if _, err := b.delta(b.dial(cart)).Recv(); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), cart) {
			t.Errorf("without permission: %v, want PERMISSION_DENIED for %s", err, cart)
		}
	})
}

// Patterns select identities.
func TestPatterns(t *testing.T) {
	for pattern, want := range map[string]bool{
		"anyone": true, "verified": true, cart: true, "spiffe://example.com/*": true, "spiffe://example.com/ns": false,
		"spiffe://example.org/*": false, "dns:cart.example.com": true, "dns:CART.example.com": true, "dns:*.example.com": true,
		"dns:*.cart.example.com": false, "dns:example.com": false, "subject:CN=cart": true, "subject:CN=c*": true, "subject:CN=ca": false,
	} {
		t.Run(pattern, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, ca(t), serve.WithPermissions(allow(pattern, "*", "*")))
				s := b.delta(b.dial(cart))
				if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a"}}); err != nil && want {
					t.Fatal(err)
				}
				_, err := s.Recv()
				if got := err == nil; got != want {
					t.Errorf("allowed = %t (%v), want %t", got, err, want)
				}
			})
		})
	}
}

// Patterns that can match nothing are errors.
func TestMalformedPermissions(t *testing.T) {
	for want, p := range map[string]serve.Permission{
		"clients; must not be empty":      {Types: []string{"*"}, Authorities: []string{"*"}},
		"types; must not be empty":        {Clients: []string{"anyone"}, Authorities: []string{"*"}},
		`clients[0] = "spiffe://a*b"`:     allow("spiffe://a*b", "*", "*"),
		`clients[0] = "spiffe://a*"`:      allow("spiffe://a*", "*", "*"),
		`clients[0] = "dns:a*"`:           allow("dns:a*", "*", "*"),
		`clients[0] = "subject:"`:         allow("subject:", "*", "*"),
		`types[0] = "` + clusterURL + `"`: allow("anyone", clusterURL, "*"),
		`authorities[0] = "a*"`:           allow("anyone", "*", "a*"),
	} {
		if _, err := serve.New(types(t), nil, serve.WithPermissions(p)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v; want an error about %s", err, want)
		}
	}
}
