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

// errUnanswered is the kind of error of a resource that was not received yet.
var errUnanswered = errors.New("no answer yet")

// A pending has the first resource that a configuration waits for, as of one turn.
type pending struct {
	turn uint64
	err  error
}

// Pending returns an error that names the first resource that the next configuration waits for,
// with the servers that are asked for it and the node. It returns nil if it waits for none. It is
// cheap: the Watcher searches for the resource once after each change.
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
// findPending searches the resources that the last turn met, in the order of their references and
// then by name.
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

// unanswered returns the error of a resource that was not received.
func (w *Watcher) unanswered(t resource.Type, text string) error {
	r, err := t.Ref(w.client, text)
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

// A watched is a node for Pending.
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
