package xdsconfig

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A state is the common part of the watch of a resource and of a DNS name. The Watcher's lock guards
// it.
type state struct {
	stop    func()
	reached uint64 // the last traversal that reached the watch
	used    bool   // the last configuration uses the watch
	known   bool
	err     error // of a resource: the reason why there is no update; of a DNS name: the newest error
	version uint64
}

// stays reports whether a watch is kept after a traversal. An incomplete traversal also keeps the
// watches of the last configuration. Watches of traversals between are dropped. Otherwise a control
// plane that never completes a configuration could make their number grow without limit.
func (s *state) stays(traversal uint64, complete bool) bool {
	if complete {
		s.used = s.reached == traversal
	}
	return s.used || s.reached == traversal
}

// common returns the state of any kind of watch.
func (s *state) common() *state { return s }

// A resourceWatch is one watched resource. All methods except notify need the Watcher's lock.
type resourceWatch[U resource.Update] struct {
	state
	watcher *Watcher
	update  U     // valid if err is nil
	ambient error // an error that leaves the update valid (A88)
}

// A clusterWatch is a watched cluster and its newest entry.
type clusterWatch struct {
	resourceWatch[*cluster.Update]
	entry    *entry
	derived  uint64 // the last traversal that tried to derive the entry
	complete bool   // whether that traversal derived the entry
}

// watches are all watched resources and resolved names, by name.
type watches struct {
	listeners map[string]*resourceWatch[*listener.Update]
	routes    map[string]*resourceWatch[*route.Update]
	// extensions are configurations of HTTP filters (A104).
	extensions map[string]*resourceWatch[*extension.Update]
	clusters   map[string]*clusterWatch
	endpoints  map[string]*endpointWatch
	lists      map[string]*listWatch
	names      map[string]*dnsWatch // of LOGICAL_DNS clusters
}

func newWatches() watches {
	return watches{
		listeners: make(map[string]*resourceWatch[*listener.Update]), routes: make(map[string]*resourceWatch[*route.Update]),
		extensions: make(map[string]*resourceWatch[*extension.Update]),
		clusters:   make(map[string]*clusterWatch), endpoints: make(map[string]*endpointWatch), lists: make(map[string]*listWatch),
		names: make(map[string]*dnsWatch),
	}
}

// notify records an event of the resource.
func (n *resourceWatch[U]) notify(ev resource.Event[U]) {
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

// subscribe starts the watch. If that fails, the error becomes the state of the resource.
func (n *resourceWatch[U]) subscribe(w *Watcher, t resource.TypeOf[U], name string) {
	n.watcher = w
	var err error
	if n.stop, err = t.Subscribe(w.client, name, n.notify); err != nil {
		n.fail(w, err)
	}
}

// fail makes an error the state of a resource that cannot be watched.
func (n *resourceWatch[U]) fail(w *Watcher, err error) {
	w.version++
	n.stop, n.known, n.err, n.version = func() {}, true, err, w.version
}

// watch finds or starts the watch of a resource.
func watch[U resource.Update](w *Watcher, all map[string]*resourceWatch[U], t resource.TypeOf[U], name string) *resourceWatch[U] {
	n, ok := all[name]
	if !ok {
		n = &resourceWatch[U]{}
		n.subscribe(w, t, name)
		all[name] = n
	}
	n.reached = w.traversals
	return n
}

// watchCluster finds or starts the watch of a cluster. It returns nil if there are too many
// clusters, or if the Watcher is being closed.
func (w *traversal) watchCluster(name string) *clusterWatch {
	n, ok := w.watches.clusters[name]
	if ok && n.reached == w.traversals {
		return n
	}
	if w.clusters == w.options.Limit && w.err == nil {
		w.err = fmt.Errorf("%w: %d", errTooMany, w.options.Limit)
	}
	if w.over() {
		return nil
	}
	w.clusters++
	w.visits++
	if !ok {
		n = &clusterWatch{}
		n.subscribe(w.Watcher, cluster.Type(), name)
		w.watches.clusters[name] = n
	}
	n.reached = w.traversals
	return n
}

// A watched is any kind of watch.
type watched interface{ common() *state }

// prune ends the watches that neither this traversal nor the last configuration needs.
func (w *Watcher) prune(complete bool) {
	prune(w.watches.listeners, w.traversals, complete)
	prune(w.watches.routes, w.traversals, complete)
	prune(w.watches.extensions, w.traversals, complete)
	prune(w.watches.clusters, w.traversals, complete)
	prune(w.watches.endpoints, w.traversals, complete)
	prune(w.watches.lists, w.traversals, complete)
	prune(w.watches.names, w.traversals, complete)
}

func prune[W watched](all map[string]W, traversal uint64, complete bool) {
	for name, n := range all {
		if s := n.common(); !s.stays(traversal, complete) {
			s.stop()
			delete(all, name)
		}
	}
}

// errUnanswered is the kind of error of a resource that was not received yet.
var errUnanswered = errors.New("no answer yet")

// A pending has the first resource that a configuration waits for, as of one traversal.
type pending struct {
	traversal uint64
	err       error
}

// Pending returns an error that names the first resource that the next configuration waits for,
// with the servers that are asked for it and the node. It returns nil if it waits for none. It is
// cheap: the Watcher searches for the resource once after each change.
func (w *Watcher) Pending() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.traversals == 0 {
		return w.unanswered(listener.Type(), w.options.Listener)
	}
	if w.pending.traversal != w.traversals {
		w.pending = pending{w.traversals, w.findPending()}
	}
	return w.pending.err
}

// findPending searches the resources that the last traversal reached, in the order of their
// references and then by name.
func (w *Watcher) findPending() error {
	if name, ok := firstPending(w.watches.listeners, w.traversals); ok {
		return w.unanswered(listener.Type(), name)
	}
	if name, ok := firstPending(w.watches.routes, w.traversals); ok {
		return w.unanswered(route.Type(), name)
	}
	if name, ok := firstPending(w.watches.extensions, w.traversals); ok {
		return w.unanswered(extension.Type(), name)
	}
	if name, ok := firstPending(w.watches.clusters, w.traversals); ok {
		return w.unanswered(cluster.Type(), name)
	}
	if name, ok := firstPending(w.watches.endpoints, w.traversals); ok {
		return w.unanswered(endpoint.Type(), name)
	}
	if name, ok := firstPending(w.watches.lists, w.traversals); ok {
		t, _ := w.listType()
		return w.unanswered(t, name)
	}
	if name, ok := firstPending(w.watches.names, w.traversals); ok {
		return fmt.Errorf("the DNS name %q of a LOGICAL_DNS cluster: %w [node %s]", name, errUnanswered, w.options.NodeID)
	}
	return nil
}

// unanswered returns the error of a resource that was not received.
func (w *Watcher) unanswered(t resource.Type, name string) error {
	r, err := t.Ref(w.client, name)
	if err != nil {
		return err
	}
	e := &resource.Error{Kind: errUnanswered, Type: r.Type, Name: r.Name, NodeID: w.options.NodeID}
	if w.options.Servers != nil {
		servers, _ := w.options.Servers(r.Name) // without servers, the error names none
		uris := make([]string, 0, len(servers))
		for _, s := range servers {
			uris = append(uris, s.URI())
		}
		e.Server = strings.Join(uris, " or ")
	}
	return e
}

// firstPending returns the first name in order that the traversal reached and that is not known.
func firstPending[W watched](all map[string]W, traversal uint64) (first string, ok bool) {
	for name, n := range all {
		if s := n.common(); s.reached == traversal && !s.known && (!ok || name < first) {
			first, ok = name, true
		}
	}
	return first, ok
}
