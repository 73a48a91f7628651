package cluster

import (
	"errors"
	"fmt"
)

// maxDepth is how deep clusters may be within aggregate ones (A37).
const maxDepth = 16

// The reasons why an aggregate cluster comes to nothing. Compare with errors.Is.
var (
	// ErrTooDeep: aggregate clusters are nested more than 16 deep.
	ErrTooDeep = fmt.Errorf("cluster: aggregate clusters must not be nested more than %d deep (A37)", maxDepth)
	// ErrNoLeaves: no cluster that an aggregate cluster comes to is there.
	ErrNoLeaves = errors.New("cluster: an aggregate cluster must come to a cluster that is there (A37)")
)

// Leaves are the clusters that a cluster comes to, first choice first: itself, or what
// is left of the clusters of an aggregate one when these are followed (A37). Each is
// there once, where it is met first, so that circles end; one for which lookup has an
// error is passed over (A74). lookup finds a cluster by its name.
func (u *Update) Leaves(lookup func(name string) (*Update, error)) ([]*Update, error) {
	leaves, err := u.leaves(lookup, 1, map[string]bool{u.Name().String(): true})
	if err == nil && len(leaves) == 0 {
		err = ErrNoLeaves
	}
	return leaves, err
}

func (u *Update) leaves(lookup func(string) (*Update, error), depth int, met map[string]bool) ([]*Update, error) {
	if u == nil {
		return nil, nil
	}
	if depth > maxDepth {
		return nil, ErrTooDeep
	}
	a, ok := u.Discovery.(Aggregate)
	if !ok {
		return []*Update{u}, nil
	}
	if lookup == nil {
		return nil, nil
	}
	var all []*Update
	for _, name := range a.Clusters {
		if met[name] {
			continue
		}
		met[name] = true
		child, err := lookup(name)
		if err != nil || child == nil {
			continue // it may come yet, and harms no other
		}
		below, err := child.leaves(lookup, depth+1, met)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}
