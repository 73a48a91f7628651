package xdsconfig

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// errUnanswered is the kind of the error of a resource that has not arrived yet.
var errUnanswered = errors.New("no answer yet")

// A pending lists the resources that a configuration waits for, as of one turn.
type pending struct {
	turn uint64
	err  error
}

// Pending returns an error that names the first resource for which the next configuration waits,
// with the servers that are asked for it and the node. It returns nil if it waits for none.
// It costs little: the Watcher looks for the resource once after each change.
func (w *Watcher) Pending() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn == 0 {
		return w.unanswered(listener.Type(), w.options.Listener)
	}
	if w.pending.turn != w.turn {
		w.pending = pending{w.turn, w.findPending()}
	}
	return w.pending.err
}

// findPending searches the resources that the last turn reached, in the order in which resources refer to each
// other, and by name.
func (w *Watcher) findPending() error {
	if name, ok := firstPending(w.nodes.listeners, w.turn); ok {
		return w.unanswered(listener.Type(), name)
	}
	if name, ok := firstPending(w.nodes.routes, w.turn); ok {
		return w.unanswered(route.Type(), name)
	}
	if name, ok := firstPending(w.nodes.clusters, w.turn); ok {
		return w.unanswered(cluster.Type(), name)
	}
	if name, ok := firstPending(w.nodes.endpoints, w.turn); ok {
		return w.unanswered(endpoint.Type(), name)
	}
	if name, ok := firstPending(w.nodes.names, w.turn); ok {
		return fmt.Errorf("the DNS name %q of a LOGICAL_DNS cluster: %w [node %s]", name, errUnanswered, w.options.NodeID)
	}
	return nil
}

// unanswered is the error of a resource that has not arrived.
func (w *Watcher) unanswered(t resource.Type, text string) error {
	r, err := t.Ref(w.client, text)
	if err != nil {
		return err
	}
	e := &resource.Error{Kind: errUnanswered, Type: r.Type, Name: r.Name, NodeID: w.options.NodeID}
	if w.options.Servers != nil {
		servers, _ := w.options.Servers(r.Name) // without one, none is named
		uris := make([]string, 0, len(servers))
		for _, s := range servers {
			uris = append(uris, s.URI())
		}
		e.Server = strings.Join(uris, " or ")
	}
	return e
}

// A watched is a node as Pending sees it.
type watched interface {
	// pending reports whether the turn met the node and its resource is not known.
	pending(turn uint64) bool
}

func (n *node[U]) pending(turn uint64) bool { return n.seen == turn && !n.known }
func (n *dnsNode) pending(turn uint64) bool { return n.seen == turn && !n.known }

// firstPending returns the first pending name in order.
func firstPending[N watched](all map[string]N, turn uint64) (first string, ok bool) {
	for name, n := range all {
		if n.pending(turn) && (!ok || name < first) {
			first, ok = name, true
		}
	}
	return first, ok
}
