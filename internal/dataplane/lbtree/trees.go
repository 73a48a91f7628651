package lbtree

import (
	"context"
	"slices"
	"sync"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// A Tree is an LB tree that describes itself.
type Tree interface {
	// Describe returns the connectivity state of the tree and its clusters. It must not be called on the goroutine
	// of a tree.
	Describe(ctx context.Context) (state string, clusters []dataplane.Cluster, err error)
}

// Trees are the LB trees of one channel: its own, and those below cluster specifier plugins. It is safe for
// concurrent use. The zero value is empty.
type Trees struct {
	mu  sync.Mutex
	all []*entry
}

// An entry makes a tree unique.
type entry struct{ Tree }

// Add adds a tree, until remove is called.
func (t *Trees) Add(tree Tree) (remove func()) {
	e := &entry{tree}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, e)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all = slices.DeleteFunc(t.all, func(o *entry) bool { return o == e })
	}
}

// All returns the trees in the order of Add.
func (t *Trees) All() []Tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Tree, 0, len(t.all))
	for _, e := range t.all {
		all = append(all, e.Tree)
	}
	return all
}
