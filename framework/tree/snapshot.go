package tree

import (
	"errors"
	"fmt"
	"iter"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// ErrNotInTree is what [Get] returns for a resource that the snapshot does not refer to.
var ErrNotInTree = errors.New("not in the tree")

// A Snapshot is a resource and everything that it refers to, at one moment. It is
// immutable.
type Snapshot struct {
	refs   []resource.Ref // the root first, then in the order in which they are referred to
	states map[key]resource.State
}

// A key finds a state by what a field of an update says: the canonical name.
type key struct{ typ, name string }

func keyOf(r resource.Ref) key { return key{r.Type, r.Name.String()} }

// Root is the resource that was asked for.
func (s *Snapshot) Root() resource.Ref { return s.refs[0] }

// All yields every resource with its state, the root first: those nearer to it come
// before those farther away. Every state is known.
func (s *Snapshot) All() iter.Seq2[resource.Ref, resource.State] {
	return func(yield func(resource.Ref, resource.State) bool) {
		for _, r := range s.refs {
			if !yield(r, s.states[keyOf(r)]) {
				return
			}
		}
	}
}

// State is what is known of a resource by its canonical name, as it stands in the fields
// of the updates that refer to it. ok is false for one that is not in the tree.
func (s *Snapshot) State(t *resource.Type, name string) (state resource.State, ok bool) {
	state, ok = s.states[key{t.Name, name}]
	return state, ok
}

// Get returns a resource: the update, even when an ambient error stands beside it, or the
// reason why there is none, or ErrNotInTree.
func Get[U resource.Update](s *Snapshot, t *resource.Type, name string) (U, error) {
	var none U
	state, ok := s.State(t, name)
	if !ok {
		return none, fmt.Errorf("tree: %s %q: %w", t.ShortName(), name, ErrNotInTree)
	}
	if u, ok := state.Update.(U); ok {
		return u, nil
	}
	return none, state.Err
}

// same reports whether both have the same resources in the same states.
func (s *Snapshot) same(o *Snapshot) bool {
	if o == nil || len(s.refs) != len(o.refs) {
		return false
	}
	for k, state := range s.states {
		if other, ok := o.states[k]; !ok || other != state {
			return false
		}
	}
	return true
}
