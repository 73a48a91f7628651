package xdsconfig

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// maxDepth is the limit of the nesting of aggregate clusters (A37).
const maxDepth = 16

// leavesPerCluster, times the limit of clusters, is the limit of the leaves of all aggregate
// clusters of a target. Without it, a few nested resources could need any number: each of 10,000
// aggregates may have the same 10,000 leaves.
const leavesPerCluster = 16

// A below is a summary of the clusters below an aggregate. Each turn makes it once.
type below struct {
	leaves  []string // first choice first
	height  int      // in levels of clusters; a leaf has 1
	pending bool     // some of the clusters are not known yet
	// entangled says that the leaves depend on the path of the walk, because of a cycle or a path
	// beyond the depth limit. The walk then expands them again for each target.
	entangled bool
}

// aggregate makes the entry of an aggregate cluster. Missing clusters below it are an error only if
// no leaf remains (A37, A74).
func (w *walk) aggregate(name string, n *clusterNode) (complete bool) {
	b, err := w.summary(n, 1), error(nil)
	if b.entangled || b.height > maxDepth {
		b, err = w.untangle(n)
	}
	switch {
	case w.over():
		return true
	case b.pending:
		return false
	}
	c := Cluster{Update: n.update, Leaves: b.leaves}
	if err == nil && len(b.leaves) == 0 {
		err = cluster.ErrNoLeaves
	}
	if err != nil {
		c = Cluster{Err: fmt.Errorf("%s %s: %w [server %s, node %s]", resource.Describe(cluster.Type()).ShortName(),
			printable.Quote(name, printable.Short), err, n.update.Server().URI(), w.options.NodeID)}
	}
	if m := n.made; m == nil || m.cluster != n.version || !slices.Equal(m.Leaves, c.Leaves) || text(m.Err) != text(c.Err) {
		n.made = &made{Cluster: c, cluster: n.version}
	}
	w.made[name] = n.made
	return true
}

// summary visits each cluster below an aggregate once per turn, even if many aggregates lead to it.
func (w *walk) summary(n *clusterNode, depth int) *below {
	if b := w.below[n]; b != nil {
		return b
	}
	b := &below{entangled: true} // until the summary is complete: reaching it now means a cycle
	w.below[n] = b
	if depth > maxDepth {
		return b
	}
	entangled := false
	met := make(map[string]bool)
	all := gather{met: make(map[string]bool)}
	for _, name := range discovery(n.update).(cluster.Aggregate).Clusters {
		if met[name] {
			continue
		}
		met[name] = true
		child := w.meetCluster(name)
		if w.over() {
			return b
		}
		if _, nested := discovery(child.update).(cluster.Aggregate); nested {
			c := w.summary(child, depth+1)
			entangled, b.pending = entangled || c.entangled, b.pending || c.pending
			b.height = max(b.height, c.height)
			all.add(c.leaves)
			continue
		}
		b.height = max(b.height, 1)
		switch {
		case !w.cluster(name):
			b.pending = true
		case child.err == nil:
			all.add([]string{name})
		}
	}
	b.height++
	if b.entangled = entangled; !entangled {
		b.leaves = all.leaves
		w.count(len(b.leaves))
	}
	return b
}

// untangle finds the leaves from the aggregate cluster on, by the algorithm of A37.
func (w *walk) untangle(n *clusterNode) (*below, error) {
	b := new(below)
	leaves, err := n.update.Leaves(func(name string) (*cluster.Update, error) {
		w.count(1)
		child := w.meetCluster(name)
		if w.over() {
			return nil, errPending
		}
		if _, nested := discovery(child.update).(cluster.Aggregate); nested {
			return child.update, nil
		}
		if !w.cluster(name) {
			b.pending = true
			return nil, errPending
		}
		return child.update, child.err
	})
	for _, u := range leaves {
		b.leaves = append(b.leaves, u.Name().String())
	}
	if errors.Is(err, cluster.ErrNoLeaves) {
		err = nil // the caller reports it
	}
	return b, err
}

// count adds to the leaves of all aggregate clusters.
func (w *walk) count(leaves int) {
	if w.leaves += leaves; w.leaves > leavesPerCluster*w.options.Limit && w.err == nil {
		w.err = fmt.Errorf("%w: %d", errTooManyLeaves, leavesPerCluster*w.options.Limit)
	}
}

// A gather collects leaves without repetition, in the order of the walk.
type gather struct {
	leaves []string
	met    map[string]bool
}

func (g *gather) add(leaves []string) {
	if len(g.leaves) == 0 {
		g.leaves = slices.Clip(leaves) // shared until another list is added
		for _, name := range leaves {
			g.met[name] = true
		}
		return
	}
	for _, name := range leaves {
		if !g.met[name] {
			g.met[name] = true
			g.leaves = append(g.leaves, name)
		}
	}
}
