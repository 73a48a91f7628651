package tree

import (
	"fmt"
	"iter"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Snapshot is a resource and all resources that it refers to, directly or not, at one moment. It
// is immutable.
type Snapshot struct {
	order   []resource.Ref // the root first, then level by level
	entries map[resource.Ref]entry
}

// An entry is the state of one resource.
type entry struct {
	update resource.Update
	err    error // why there is no update
	origin resource.Origin
}

// Root returns the resource from which Watch follows references.
func (s *Snapshot) Root() resource.Update { return s.entries[s.order[0]].update }

// Len returns the number of resources, including missing ones.
func (s *Snapshot) Len() int { return len(s.order) }

// All yields every resource once: the root first, and each other one after a resource that refers
// to it. If there is no resource, the update is nil and the error is the reason.
func (s *Snapshot) All() iter.Seq2[resource.Ref, resource.State] {
	return func(yield func(resource.Ref, resource.State) bool) {
		for _, r := range s.order {
			if p := s.entries[r]; !yield(r, resource.State{Update: p.update, Err: p.err, Origin: p.origin}) {
				return
			}
		}
	}
}

// Lookup returns the resource of a reference, or the reason why there is none. The error is also
// resource.ErrNotFound if nothing in the snapshot refers to the resource.
func (s *Snapshot) Lookup(r resource.Ref) (resource.Update, error) {
	p, ok := s.entries[r]
	if !ok {
		return nil, fmt.Errorf("tree: %s: %w in this snapshot", r, resource.ErrNotFound)
	}
	return p.update, p.err
}

// Get is Lookup for a resource of a known type.
func Get[U resource.Update](s *Snapshot, r resource.Ref) (U, error) {
	var none U
	u, err := s.Lookup(r)
	if err != nil {
		return none, err
	}
	typed, ok := u.(U)
	if !ok {
		return none, fmt.Errorf("tree: %s is a %T, not a %T", r, u, none)
	}
	return typed, nil
}

// same reports whether both snapshots have the same updates for the same references.
func (s *Snapshot) same(o *Snapshot) bool {
	if s == nil || o == nil || len(s.order) != len(o.order) {
		return s == o
	}
	for r, p := range s.entries {
		q, ok := o.entries[r]
		if !ok || p.update != q.update || (p.err == nil) != (q.err == nil) || p.err != nil && p.err.Error() != q.err.Error() {
			return false
		}
	}
	return true
}
