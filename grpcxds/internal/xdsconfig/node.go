package xdsconfig

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A node is one resource that is watched. All but the callbacks of [resource.Watcher]
// need the Watcher's lock.
type node[U resource.Update] struct {
	watcher *Watcher
	cancel  func()
	seen    uint64 // the turn that met it last

	known   bool
	update  U     // if err is nil
	err     error // why there is none to use
	ambient error // trouble beside an update (A88)
	version uint64
}

// nodes are all that is watched, by name.
type nodes struct {
	listeners map[string]*node[*listener.Update]
	routes    map[string]*node[*route.Update]
	clusters  map[string]*clusterNode
	endpoints map[string]*node[*endpoint.Update]
	names     map[string]*dnsNode // of LOGICAL_DNS
}

// A clusterNode is a cluster, and what was made of it last.
type clusterNode struct {
	node[*cluster.Update]
	made *made
}

func newNodes() nodes {
	return nodes{
		listeners: make(map[string]*node[*listener.Update]), routes: make(map[string]*node[*route.Update]),
		clusters: make(map[string]*clusterNode), endpoints: make(map[string]*node[*endpoint.Update]),
		names: make(map[string]*dnsNode),
	}
}

// tell takes what is known now: an update to use, perhaps with trouble beside it, or why
// there is none.
func (n *node[U]) tell(u U, err, ambient error) {
	w := n.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	n.known, n.update, n.err, n.ambient = true, u, err, ambient
	w.version++
	n.version = w.version
	w.signal()
}

// Changed implements [resource.Watcher].
func (n *node[U]) Changed(u U) { n.tell(u, nil, nil) }

// Failed implements [resource.Watcher].
func (n *node[U]) Failed(err error) {
	var none U
	n.tell(none, err, nil)
}

// Ambient implements [resource.Watcher]: the resource stays in use.
func (n *node[U]) Ambient(err error) { n.tell(n.update, nil, err) }

// subscribe begins to watch. What cannot be watched is known to be unusable.
func (n *node[U]) subscribe(w *Watcher, t *resource.Type, name string) {
	n.watcher, n.cancel = w, func() {}
	cancel, err := resource.Subscribe(w.client, t, name, n)
	if err != nil {
		w.version++
		n.known, n.err, n.version = true, err, w.version
		return
	}
	n.cancel = cancel
}

// meet finds or begins the watch of a resource.
func meet[U resource.Update](w *Watcher, all map[string]*node[U], t *resource.Type, name string) *node[U] {
	n, ok := all[name]
	if !ok {
		n = &node[U]{}
		n.subscribe(w, t, name)
		all[name] = n
	}
	n.seen = w.turn
	return n
}

func (w *Watcher) meetCluster(name string) *clusterNode {
	n, ok := w.nodes.clusters[name]
	if !ok {
		n = &clusterNode{}
		n.subscribe(w, cluster.Type(), name)
		w.nodes.clusters[name] = n
	}
	n.seen = w.turn
	return n
}

// prune ends the watches that this turn did not meet.
func (w *Watcher) prune() {
	pruneNodes(w.nodes.listeners, w.turn)
	pruneNodes(w.nodes.routes, w.turn)
	pruneNodes(w.nodes.endpoints, w.turn)
	for name, n := range w.nodes.clusters {
		if n.seen != w.turn {
			n.cancel()
			delete(w.nodes.clusters, name)
		}
	}
	for name, n := range w.nodes.names {
		if n.seen != w.turn {
			n.stop()
			delete(w.nodes.names, name)
		}
	}
}

func pruneNodes[U resource.Update](all map[string]*node[U], turn uint64) {
	for name, n := range all {
		if n.seen != turn {
			n.cancel()
			delete(all, name)
		}
	}
}
