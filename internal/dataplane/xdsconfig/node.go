package xdsconfig

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A node is one watched resource. All methods except notify need the Watcher's lock.
type node[U resource.Update] struct {
	mark
	watcher *Watcher
	cancel  func()

	known   bool
	update  U     // valid if err is nil
	err     error // the reason why there is no update
	ambient error // an error that leaves the update valid (A88)
	version uint64
}

// A mark records which turns need a node.
type mark struct {
	seen uint64 // the last turn that met it
	used bool   // the last configuration uses it
}

// stays reports whether a node is kept after a turn. An incomplete turn also keeps the nodes of the
// last configuration. Nodes of turns between are dropped. Otherwise a control plane that never
// completes a configuration could make their number grow without limit.
func (m *mark) stays(turn uint64, complete bool) bool {
	if complete {
		m.used = m.seen == turn
	}
	return m.used || m.seen == turn
}

// nodes are all watched resources and resolved names, by name.
type nodes struct {
	listeners map[string]*node[*listener.Update]
	routes    map[string]*node[*route.Update]
	clusters  map[string]*clusterNode
	endpoints map[string]*node[*endpoint.Update]
	names     map[string]*dnsNode // of LOGICAL_DNS clusters
}

// A clusterNode is a cluster and its newest entry.
type clusterNode struct {
	node[*cluster.Update]
	made     *made
	entered  uint64 // the turn that last tried to make the entry
	complete bool   // whether that turn made the entry
}

func newNodes() nodes {
	return nodes{
		listeners: make(map[string]*node[*listener.Update]), routes: make(map[string]*node[*route.Update]),
		clusters: make(map[string]*clusterNode), endpoints: make(map[string]*node[*endpoint.Update]),
		names: make(map[string]*dnsNode),
	}
}

// notify records an event of the resource.
func (n *node[U]) notify(ev resource.Event[U]) {
	w := n.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.known && !ev.Changed && ev.Err == nil {
		if n.ambient == ev.Ambient { //nolint:errorlint // the same error as in an earlier event
			return // another server has sent the same resource
		}
		ev.Update = n.update
	}
	n.known, n.update, n.err, n.ambient = true, ev.Update, ev.Err, ev.Ambient
	w.version++
	n.version = w.version
	w.signal()
}

// subscribe starts the watch. If that fails, the error becomes the state of the node.
func (n *node[U]) subscribe(w *Watcher, t resource.TypeOf[U], name string) {
	n.watcher, n.cancel = w, func() {}
	cancel, err := t.Subscribe(w.client, name, n.notify)
	if err != nil {
		w.version++
		n.known, n.err, n.version = true, err, w.version
		return
	}
	n.cancel = cancel
}

// meet finds or starts the watch of a resource.
func meet[U resource.Update](w *Watcher, all map[string]*node[U], t resource.TypeOf[U], name string) *node[U] {
	n, ok := all[name]
	if !ok {
		n = &node[U]{}
		n.subscribe(w, t, name)
		all[name] = n
	}
	n.seen = w.turn
	return n
}

// meetCluster finds or starts the watch of a cluster. It returns nil if there are too many
// clusters, or if the Watcher is being closed.
func (w *walk) meetCluster(name string) *clusterNode {
	n, ok := w.nodes.clusters[name]
	if ok && n.seen == w.turn {
		return n
	}
	if w.met == w.options.Limit && w.err == nil {
		w.err = fmt.Errorf("%w: %d", errTooMany, w.options.Limit)
	}
	if w.over() {
		return nil
	}
	w.met++
	w.visits++
	if !ok {
		n = &clusterNode{}
		n.subscribe(w.Watcher, cluster.Type(), name)
		w.nodes.clusters[name] = n
	}
	n.seen = w.turn
	return n
}

// prune ends the watches that neither this turn nor the last configuration needs.
func (w *Watcher) prune(complete bool) {
	pruneNodes(w.nodes.listeners, w.turn, complete)
	pruneNodes(w.nodes.routes, w.turn, complete)
	pruneNodes(w.nodes.endpoints, w.turn, complete)
	for name, n := range w.nodes.clusters {
		if !n.stays(w.turn, complete) {
			n.cancel()
			delete(w.nodes.clusters, name)
		}
	}
	for name, n := range w.nodes.names {
		if !n.stays(w.turn, complete) {
			n.stop()
			delete(w.nodes.names, name)
		}
	}
}

func pruneNodes[U resource.Update](all map[string]*node[U], turn uint64, complete bool) {
	for name, n := range all {
		if !n.stays(turn, complete) {
			n.cancel()
			delete(all, name)
		}
	}
}
