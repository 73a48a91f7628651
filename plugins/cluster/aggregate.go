package cluster

import (
	"errors"
	"fmt"
)

// maxDepth is the limit of nested aggregate clusters (A37).
const maxDepth = 16

// The reasons why an aggregate cluster has no usable leaf cluster. Compare with errors.Is.
var (
	// errTooDeep means that aggregate clusters are nested more than 16 deep.
	errTooDeep = fmt.Errorf("cluster: aggregate clusters must not be nested more than %d deep (A37)", maxDepth)
	// ErrNoLeaves means that no leaf of an aggregate cluster exists.
	ErrNoLeaves = errors.New("cluster: an aggregate cluster must come to a cluster that is there (A37)")
)

// Leaves returns the leaf clusters, most preferred first (A37). They are the cluster
// itself, or the leaves of all clusters of an aggregate cluster. Each leaf occurs once, at
// its first position, so cycles end. Leaves skips clusters for which lookup returns an
// error (A74). lookup finds a cluster by its name.
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
		return nil, errTooDeep
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
			continue // the cluster can still arrive, and does not affect the others
		}
		below, err := child.leaves(lookup, depth+1, met)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}
