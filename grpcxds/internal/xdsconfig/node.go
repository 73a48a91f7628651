package xdsconfig

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A node is one resource that is watched. All but notify needs the Watcher's lock.
type node[U resource.Update] struct {
	mark
	watcher *Watcher
	cancel  func()

	known   bool
	update  U     // if err is nil
	err     error // why there is none to use
	ambient error // trouble beside an update (A88)
	version uint64
}

// A mark says who needs a node.
type mark struct {
	seen uint64 // the turn that met it last
	used bool   // the last configuration was made of it
}

// stays reports whether a turn leaves a node, which must not be nil. A turn that is not
// complete keeps the nodes of the last configuration; those of turns between go, or a
// control plane that never completes a configuration could have more and more of them.
func (m *mark) stays(turn uint64, complete bool) bool {
	if complete {
		m.used = m.seen == turn
	}
	return m.used || m.seen == turn
}

// nodes are all that is watched, by name.
type nodes struct {
	listeners map[string]*node[*listener.Update]
	routes    map[string]*node[*route.Update]
	clusters  map[string]*clusterNode
	endpoints map[string]*node[*endpoint.Update]
	names     map[string]*dnsNode // of LOGICAL_DNS
}

// A clusterNode is a cluster, and the entry that was made of it last.
type clusterNode struct {
	node[*cluster.Update]
	made     *made
	entered  uint64 // the turn that made its entry, or found that it cannot yet
	complete bool   // whether it could
}

func newNodes() nodes {
	return nodes{
		listeners: make(map[string]*node[*listener.Update]), routes: make(map[string]*node[*route.Update]),
		clusters: make(map[string]*clusterNode), endpoints: make(map[string]*node[*endpoint.Update]),
		names: make(map[string]*dnsNode),
	}
}

// notify takes an event of the resource.
func (n *node[U]) notify(ev resource.Event[U]) {
	w := n.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.known && !ev.Changed && ev.Err == nil {
		if n.ambient == ev.Ambient { //nolint:errorlint // the same error of an earlier event
			return // another server has sent the same resource
		}
		ev.Update = n.update
	}
	n.known, n.update, n.err, n.ambient = true, ev.Update, ev.Err, ev.Ambient
	w.version++
	n.version = w.version
	w.signal()
}

// subscribe begins to watch. What cannot be watched is known to be unusable.
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

// meet finds or begins the watch of a resource.
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

// meetCluster finds or begins the watch of a cluster. It returns nil when there are too
// many of them, or the Watcher is being closed.
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
