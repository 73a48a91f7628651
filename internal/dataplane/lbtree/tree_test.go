package lbtree_test

import (
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

const one = 1 << 31

func endpoint(weight uint32, addrs ...string) *lbtree.Endpoint {
	e := &lbtree.Endpoint{Weight: weight}
	for _, a := range addrs {
		e.Addresses = append(e.Addresses, resolver.Address{Addr: a})
	}
	return e
}

// The shares are those of gRFC A113. The weights of localities and endpoints may have any sum.
func TestFlatten(t *testing.T) {
	got := lbtree.Flatten([]lbtree.Locality{
		{Weight: 3, Endpoints: []*lbtree.Endpoint{endpoint(2, "a"), endpoint(2, "b")}},
		{Weight: 1, Endpoints: []*lbtree.Endpoint{endpoint(100, "c"), endpoint(300, "d")}},
		{Weight: 4, Endpoints: []*lbtree.Endpoint{endpoint(1<<32-1, "e"), endpoint(1, "f")}},
	})
	want := []uint32{one / 16 * 3, one / 16 * 3, one / 32, one / 32 * 3, one/2 - 1, 1}
	for i, e := range got {
		if e.Share != want[i] {
			t.Errorf("the share of %s = %d, want %d", e.Addresses[0].Addr, e.Share, want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d endpoints, want %d", len(got), len(want))
	}
}

func TestKey(t *testing.T) {
	ab, ba, a := endpoint(1, "a", "b"), endpoint(2, "b", "a"), endpoint(1, "a")
	if ab.Key() != ba.Key() || ab.Key() == a.Key() {
		t.Errorf("keys %q, %q, %q; want different keys for different addresses", ab.Key(), ba.Key(), a.Key())
	}
}

func TestTally(t *testing.T) {
	const (
		idle       = connectivity.Idle
		connecting = connectivity.Connecting
		ready      = connectivity.Ready
		failure    = connectivity.TransientFailure
	)
	for _, test := range []struct {
		children []connectivity.State
		want     connectivity.State
	}{
		{nil, failure},
		{[]connectivity.State{failure, idle, connecting, ready}, ready},
		{[]connectivity.State{failure, idle, connecting}, connecting},
		{[]connectivity.State{failure, idle}, idle},
		{[]connectivity.State{failure, failure}, failure},
	} {
		var tally lbtree.Tally
		for _, s := range test.children {
			tally.Add(s)
		}
		if got := tally.State(); got != test.want {
			t.Errorf("%v come to %v, want %v", test.children, got, test.want)
		}
		for _, s := range test.children {
			tally.Remove(s)
		}
		if got := tally.State(); got != failure {
			t.Errorf("the state is %v after %v have ended, want %v", got, test.children, failure)
		}
	}
	in := func(s connectivity.State) balancer.State { return balancer.State{ConnectivityState: s} }
	if got := lbtree.Sticky(in(failure), in(connecting)); got.ConnectivityState != failure {
		t.Errorf("a child that reconnects after a failure counts as %v", got.ConnectivityState)
	}
	if got := lbtree.Sticky(in(ready), in(connecting)); got.ConnectivityState != connecting {
		t.Errorf("a child that reconnects after READY counts as %v", got.ConnectivityState)
	}
}
