package lbtree_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A batch reports the changes within an update once, nested ones too, and nothing after Close.
func TestBatch(t *testing.T) {
	reports := 0
	b := lbtree.Batch{Report: func() { reports++ }}
	expect := func(when string, want int) {
		t.Helper()
		if reports != want {
			t.Errorf("%d reports %s, want %d", reports, when, want)
		}
		reports = 0
	}
	b.Changed()
	expect("of a change", 1)
	b.Pause(b.Changed)
	expect("in a pause", 0)
	b.Update(func() {
		b.Changed()
		b.Pause(b.Changed)
		b.Changed()
		expect("within an update", 0)
	})
	expect("after an update", 1)
	b.Close()
	b.Changed()
	b.Update(b.Changed)
	expect("after Close", 0)
}

// A child that has failed stays failed while it connects.
func TestSticky(t *testing.T) {
	const failed, connecting, idle = connectivity.TransientFailure, connectivity.Connecting, connectivity.Idle
	for _, test := range []struct{ last, next, want connectivity.State }{
		{failed, connecting, failed},
		{failed, idle, idle},
		{failed, connectivity.Ready, connectivity.Ready},
		{idle, connecting, connecting},
		{connectivity.Ready, failed, failed},
	} {
		newest := lbtree.Fail{Err: errors.New("newest")}
		got := lbtree.Sticky(balancer.State{ConnectivityState: test.last}, balancer.State{ConnectivityState: test.next, Picker: newest})
		if got.ConnectivityState != test.want || got.Picker != newest {
			t.Errorf("%v after %v counts as %v with picker %v, want %v with the newest picker", test.next, test.last, got.ConnectivityState, got.Picker, test.want)
		}
	}
}

func TestPickersWithoutEndpoints(t *testing.T) {
	err := errors.New("no endpoints")
	for _, test := range []struct {
		state balancer.State
		want  connectivity.State
		err   error
	}{
		{lbtree.Connecting(), connectivity.Connecting, balancer.ErrNoSubConnAvailable},
		{lbtree.Failure(err), connectivity.TransientFailure, err},
	} {
		if _, got := test.state.Picker.Pick(balancer.PickInfo{}); test.state.ConnectivityState != test.want || !errors.Is(got, test.err) {
			t.Errorf("the state is %v, and a pick returns %v; want %v and %v", test.state.ConnectivityState, got, test.want, test.err)
		}
	}
}

// The list has the endpoints of all localities in order. The key of an endpoint does not depend on the order of its
// addresses.
func TestKeys(t *testing.T) {
	ab, c, d := endpoint(1, "b", "a"), endpoint(1, "c"), endpoint(1, "d")
	localities := []lbtree.Locality{{Endpoints: []*lbtree.Endpoint{ab, c}}, {}, {Endpoints: []*lbtree.Endpoint{d}}}
	for _, tt := range []struct {
		localities []lbtree.Locality
		want       []*lbtree.Endpoint
	}{{nil, nil}, {localities[:1], []*lbtree.Endpoint{ab, c}}, {localities, []*lbtree.Endpoint{ab, c, d}}} {
		if got := lbtree.List(tt.localities); !slices.Equal(got, tt.want) || lbtree.Count(tt.localities) != len(tt.want) {
			t.Errorf("list = %v of %d endpoints, want %v", got, lbtree.Count(tt.localities), tt.want)
		}
	}
	if ab.Key() != "a\nb" || c.Key() != "c" {
		t.Errorf("keys = %q and %q, want both addresses in order, and one", ab.Key(), c.Key())
	}
	if a, b := lbtree.KeyOf([]string{"b", "a"}), lbtree.KeyOf([]string{"a", "b"}); a != b || lbtree.KeyOf([]string{"a"}) != "a" {
		t.Errorf("the keys of two addresses are %q and %q, want the same", a, b)
	}
}

type fakeTree struct{ name string }

func (f fakeTree) Describe(context.Context) (string, []dataplane.Cluster, error) {
	return f.name, nil, nil
}

// Equal trees are listed and removed one by one.
func TestTrees(t *testing.T) {
	var trees lbtree.Trees
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, tree := range trees.All() {
			got = append(got, tree.(fakeTree).name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the trees are %q, want %q", got, want)
		}
	}
	expect()
	first, second, other := trees.Add(fakeTree{"a"}), trees.Add(fakeTree{"a"}), trees.Add(fakeTree{"b"})
	expect("a", "a", "b")
	first()
	first()
	expect("a", "b")
	other()
	second()
	expect()
}

func TestHTTPOf(t *testing.T) {
	if got := lbtree.HTTPOf(attributes.New("other", 1)); got != (lbtree.HTTP{}) {
		t.Errorf("attributes without settings have %v", got)
	}
	want := lbtree.HTTP{ConnectTimeout: time.Second}
	if got := lbtree.HTTPOf(lbtree.WithHTTP(nil, want)); got != want {
		t.Errorf("the settings are %v, want %v", got, want)
	}
}
