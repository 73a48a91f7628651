package policy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A kept is an endpoint of a policy that was made of an endpoint of the last target.
type kept struct{ of *lbtree.Endpoint }

func (k *kept) key() string { return k.of.Key() }

// TestMatch expects each endpoint of a random target to get the existing one with its addresses, and all others to be
// gone. An endpoint that is not in the list of changes must be the one of the last target.
func TestMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	all := []*lbtree.Endpoint{}
	for range 2000 {
		last := all
		all = mutate(r, all)
		existing := make([]*kept, len(last))
		for i, e := range last {
			existing[i] = &kept{e}
		}
		m := match(existing, last, all)
		left := slices.Clone(existing)
		for j, e := range all {
			i := slices.IndexFunc(last, func(o *lbtree.Endpoint) bool { return o.Key() == e.Key() })
			switch {
			case i < 0 && m.endpoints[j] != nil:
				t.Fatalf("the new endpoint %s gets that of %s", e.Key(), m.endpoints[j].key())
			case i >= 0 && m.endpoints[j] != existing[i]:
				t.Fatalf("endpoint %s gets %v, want its own", e.Key(), m.endpoints[j])
			case !slices.Contains(m.changed, j) && (i < 0 || last[i] != e):
				t.Fatalf("endpoint %s has changed, and is not in the list of changes", e.Key())
			}
			left = slices.DeleteFunc(left, func(o *kept) bool { return o == m.endpoints[j] })
		}
		slices.SortFunc(left, byKey)
		slices.SortFunc(m.gone, byKey)
		if !slices.Equal(m.gone, left) {
			t.Fatalf("%d endpoints are gone, want %d", len(m.gone), len(left))
		}
	}
}

func byKey(a, b *kept) int {
	if a.key() < b.key() {
		return -1
	}
	return 1
}

// One change among many endpoints is the only one in the list of changes, wherever it is.
func TestMatchFindsOneChange(t *testing.T) {
	last := endpointsOf("a", "b", "c", "d", "e")
	existing := make([]*kept, len(last))
	for i, e := range last {
		existing[i] = &kept{e}
	}
	for i := range last {
		for _, addr := range []string{"x", last[i].Key()} {
			next := slices.Clone(last)
			next[i] = endpointsOf(addr)[0]
			if m := match(existing, last, next); !slices.Equal(m.changed, []int{i}) {
				t.Errorf("endpoint %d becomes %s: the changes are %v", i, addr, m.changed)
			}
		}
	}
}
