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

// made is the entry of a cluster, with the versions of the resources that it was made from.
type made struct {
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
	if slices.EqualFunc(ambient, r.ambient, func(a, b error) bool { return text(a) == text(b) }) {
		return
	}
	*version++
	r.ambient, r.version = ambient, *version
}

// cluster makes the entry of a cluster and of the clusters below it, once per turn. It returns
// false if some of them are not known yet.
func (w *walk) cluster(name string) bool {
	n := w.meetCluster(name)
	if n == nil {
		return true
	}
	if n.entered != w.turn {
		n.entered = w.turn
		n.complete = w.enter(name, n)
	}
	return n.complete
}

func (w *walk) enter(name string, n *clusterNode) bool {
	if !n.known {
		return false
	}
	switch d := discovery(n.update).(type) {
	case nil:
		w.make(name, n, 0, func() Cluster { return Cluster{Err: cmp.Or(n.err, errUndiscovered)} })
	case cluster.Aggregate:
		return w.aggregate(name, n)
	case cluster.EDS:
		e := meet(w.Watcher, w.nodes.endpoints, endpoint.Type(), d.ServiceName)
		if !e.known {
			return false
		}
		w.make(name, n, e.version, func() Cluster { return w.eds(n, e) })
	case cluster.LogicalDNS:
		e := w.meetName(d.Target)
		if !e.known {
			return false
		}
		w.make(name, n, e.version, func() Cluster {
			return Cluster{Update: n.update, Localities: e.localities, Note: w.note(e.err, n.ambient)}
		})
	}
	return true
}

// make keeps the existing entry if nothing has changed.
func (w *walk) make(name string, n *clusterNode, below uint64, what func() Cluster) {
	if m := n.made; m == nil || m.cluster != n.version || m.below != below || m.roots != w.roots.version {
		n.made = &made{what(), n.version, below, w.roots.version}
	}
	w.made[name] = n.made
}

// eds returns a cluster with the endpoints of its EDS resource.
func (w *walk) eds(n *clusterNode, e *node[*endpoint.Update]) Cluster {
	c := Cluster{Update: n.update}
	if e.err != nil {
		c.Note = w.note(e.err, n.ambient)
		return c
	}
	c.Localities, c.Drops = e.update.Localities, e.update.Drops
	var empty error
	if len(c.Localities) == 0 {
		empty = fmt.Errorf("%s %s: has no locality with weight [server %s, node %s]", resource.Describe(endpoint.Type()).ShortName(),
			printable.Quote(e.update.Name().String(), printable.Short), e.update.Server().URI(), w.options.NodeID)
	}
	c.Note = w.note(empty, e.ambient, n.ambient)
	return c
}

// A note has the errors of the resources that a cluster depends on, the nearest first.
type note []error

// note returns the text to add to all errors of a cluster: the errors of the resources that it
// depends on, or else the node ID (A88).
func (w *walk) note(own ...error) error {
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
