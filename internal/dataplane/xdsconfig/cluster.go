package xdsconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// An entry is the entry of a cluster in the configuration, with the versions of the resources that it
// was derived from.
type entry struct {
	Cluster
	cluster, below, roots uint64
}

// roots has the ambient errors that apply to all clusters of the target (A88).
type roots struct {
	ambient []error
	version uint64
}

var errUndiscovered = errors.New("xdsconfig: unsupported cluster discovery type")

// set sets the ambient errors of the route and the listener.
func (r *roots) set(version *uint64, ambient ...error) {
	ambient = slices.DeleteFunc(ambient, func(err error) bool { return err == nil })
	if slices.EqualFunc(ambient, r.ambient, func(a, b error) bool { return message(a) == message(b) }) {
		return
	}
	*version++
	r.ambient, r.version = ambient, *version
}

// cluster derives the entry of a cluster and of the clusters below it, once per traversal. It
// returns false if some of them are not known yet.
func (w *traversal) cluster(name string) bool {
	n := w.watchCluster(name)
	if n == nil {
		return true
	}
	if n.derived != w.traversals {
		n.derived = w.traversals
		n.complete = w.enter(name, n)
	}
	return n.complete
}

func (w *traversal) enter(name string, n *clusterWatch) bool {
	if !n.known {
		return false
	}
	switch d := discovery(n.update).(type) {
	case nil:
		w.derive(name, n, 0, func() Cluster { return Cluster{Err: cmp.Or(n.err, errUndiscovered)} })
	case cluster.Aggregate:
		return w.aggregate(name, n)
	case cluster.EDS:
		e := w.watchEndpoints(d.ServiceName)
		if !e.known || !w.join(e) {
			return false
		}
		if !w.over() {
			w.derive(name, n, max(e.version, e.joined.version), func() Cluster { return w.eds(n, e) })
		}
	case cluster.Static:
		w.derive(name, n, 0, func() Cluster { return w.static(n, d.Endpoints) })
	case cluster.StrictDNS:
		return w.strictDNS(name, n, d)
	case cluster.LogicalDNS:
		e := w.watchName(d.Target)
		if !e.known {
			return false
		}
		w.derive(name, n, e.version, func() Cluster {
			return Cluster{Update: n.update, Localities: e.localities, Note: w.note(e.err, n.ambient)}
		})
	}
	return true
}

// derive derives an entry, unless nothing has changed.
func (w *traversal) derive(name string, n *clusterWatch, below uint64, create func() Cluster) {
	if m := n.entry; m == nil || m.cluster != n.version || m.below != below || m.roots != w.roots.version {
		n.entry = &entry{create(), n.version, below, w.roots.version}
	}
	w.entries[name] = n.entry
}

// eds returns a cluster with the endpoints of its EDS resource.
func (w *traversal) eds(n *clusterWatch, e *endpointWatch) Cluster {
	c := Cluster{Update: n.update}
	if e.err != nil {
		c.Note = w.note(e.err, n.ambient)
		return c
	}
	c.Localities, c.Drops = e.joined.localities, e.update.Drops
	var empty error
	if len(c.Localities) == 0 {
		empty = fmt.Errorf("%s %s: has no locality with weight [server %s, node %s]", resource.Describe(endpoint.Type()).ShortName(),
			printable.Quote(e.update.Name().String(), printable.Short), e.update.Server().URI(), w.options.NodeID)
	}
	c.Note = w.note(slices.Concat([]error{empty}, e.joined.errs, []error{e.ambient, n.ambient})...)
	return c
}

// A note has the errors of the resources that a cluster depends on, the nearest first.
type note []error

// note returns the text to add to all errors of a cluster: the errors of the resources that it
// depends on, or else the node ID (A88).
func (w *traversal) note(own ...error) error {
	all := slices.DeleteFunc(slices.Concat(own, w.roots.ambient), func(err error) bool { return err == nil })
	if len(all) == 0 {
		return fmt.Errorf("xDS node ID: %s", w.options.NodeID)
	}
	return note(all)
}

// Error joins the errors.
func (n note) Error() string {
	texts := make([]string, len(n))
	for i, err := range n {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap supports errors.Is and errors.As.
func (n note) Unwrap() []error { return n }

// maxDepth is the limit of the nesting of aggregate clusters (A37).
const maxDepth = 16

// leavesPerCluster, times the limit of clusters, is the limit of the leaves of all aggregate
// clusters of a target. Without it, a few nested resources could need any number: each of 10,000
// aggregates may have the same 10,000 leaves.
const leavesPerCluster = 16

// A summary is one of the clusters below an aggregate. Each traversal creates it once.
type summary struct {
	leaves  []string // first choice first
	height  int      // in levels of clusters; a leaf has 1
	pending bool     // some of the clusters are not known yet
	// entangled says that the leaves depend on the path of the traversal, because of a cycle or a path
	// beyond the depth limit. The traversal then expands them again for each target.
	entangled bool
}

// aggregate derives the entry of an aggregate cluster. Missing clusters below it are an error only if
// no leaf remains (A37, A74).
func (w *traversal) aggregate(name string, n *clusterWatch) (complete bool) {
	b, err := w.summarize(n, 1), error(nil)
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
	if m := n.entry; m == nil || m.cluster != n.version || !slices.Equal(m.Leaves, c.Leaves) || message(m.Err) != message(c.Err) {
		n.entry = &entry{Cluster: c, cluster: n.version}
	}
	w.entries[name] = n.entry
	return true
}

// summarize visits each cluster below an aggregate once per traversal, even if many aggregates lead to it.
func (w *traversal) summarize(n *clusterWatch, depth int) *summary {
	if b := w.summaries[n]; b != nil {
		return b
	}
	b := &summary{entangled: true} // until the summary is complete: reaching it now means a cycle
	w.summaries[n] = b
	if depth > maxDepth {
		return b
	}
	entangled := false
	seen := make(map[string]bool)
	all := leafSet{has: make(map[string]bool)}
	for _, name := range discovery(n.update).(cluster.Aggregate).Clusters {
		if seen[name] {
			continue
		}
		seen[name] = true
		child := w.watchCluster(name)
		if w.over() {
			return b
		}
		if _, nested := discovery(child.update).(cluster.Aggregate); nested {
			c := w.summarize(child, depth+1)
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
		w.countLeaves(len(b.leaves))
	}
	return b
}

// untangle finds the leaves from the aggregate cluster on, by the algorithm of A37.
func (w *traversal) untangle(n *clusterWatch) (*summary, error) {
	b := new(summary)
	leaves, err := n.update.Leaves(func(name string) (*cluster.Update, error) {
		w.countLeaves(1)
		child := w.watchCluster(name)
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

// countLeaves adds to the leaves of all aggregate clusters.
func (w *traversal) countLeaves(leaves int) {
	if w.leaves += leaves; w.leaves > leavesPerCluster*w.options.Limit && w.err == nil {
		w.err = fmt.Errorf("%w: %d", errTooManyLeaves, leavesPerCluster*w.options.Limit)
	}
}

// A leafSet collects leaves without repetition, in the order of the traversal.
type leafSet struct {
	leaves []string
	has    map[string]bool
}

func (g *leafSet) add(leaves []string) {
	if len(g.leaves) == 0 {
		g.leaves = slices.Clip(leaves) // shared until another list is added
		for _, name := range leaves {
			g.has[name] = true
		}
		return
	}
	for _, name := range leaves {
		if !g.has[name] {
			g.has[name] = true
			g.leaves = append(g.leaves, name)
		}
	}
}
