package xdsconfig

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// Options configure a Watcher.
type Options struct {
	// Listener is the name of the target's Listener.
	Listener string
	// Authority is the data-plane authority, which chooses the virtual host.
	Authority string
	// NodeID is the ID of the bootstrap's node, for errors.
	NodeID string
	// Limit is the limit of the clusters that routes, aggregates and calls lead to, whether they
	// exist or not. The limit of the leaves of all aggregates together is 16 times as high. 0 means
	// 20,000.
	Limit int
	// Servers returns the servers that are asked for a resource, for errors. With nil, errors do
	// not name them.
	Servers func(name xdstp.Name) ([]*bootstrap.Server, error)
	// DNS resolves the names of LOGICAL_DNS clusters. Nil is gRPC's own resolver.
	DNS resolver.Builder
	// Deliver takes every new configuration, one at a time. An error is the reason why calls cannot
	// be routed: no usable listener, routes or virtual host. The configuration then has the entries
	// that calls in flight still need. Configurations that were replaced before their delivery are
	// skipped.
	Deliver func(c *Config, err error)
}

const defaultLimit = 20_000

// A Watcher watches all resources that a data-plane target depends on, and delivers complete
// configurations (gRFC A74). It is safe for concurrent use. Deliver may call its methods, except
// Close.
type Watcher struct {
	client  resource.Client
	options Options
	changes chan struct{} // has an element when something has changed
	done    chan struct{}
	ended   chan struct{} // closed when the loop has ended

	closing atomic.Bool // ends a running traversal at once

	mu         sync.Mutex
	closed     bool
	version    uint64         // of the newest change of any watch
	traversals uint64         // the number of traversals
	visits     uint64         // the number of clusters that all traversals have visited
	subscribed map[string]int // subscriptions by the name of a cluster or of a plugin's target
	watches    watches
	roots      roots
	delivered  delivery
	pending    pending
	dns        sync.WaitGroup // the goroutines of DNS names
}

// New returns a Watcher that delivers nothing before Start. Close it after use.
func New(c resource.Client, o Options) *Watcher {
	if o.DNS == nil {
		o.DNS = resolver.Get("dns")
	}
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	w := &Watcher{
		client: c, options: o,
		changes: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{}),
		subscribed: make(map[string]int), watches: newWatches(),
	}
	go w.loop()
	return w
}

// Start starts watching. The first configuration has the clusters that were subscribed to before.
func (w *Watcher) Start() { w.signal() }

// Close ends everything that New and Start started. Nothing is delivered afterwards. Deliver must
// not call it.
func (w *Watcher) Close() {
	w.closing.Store(true)
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	w.mu.Unlock()
	if !closed {
		close(w.done)
	}
	<-w.ended
}

// Subscribe keeps a cluster in later configurations that no route may name (gRFC A74), until
// unsubscribe is called. Configurations do not wait for a cluster that is new. After Close it does
// nothing.
func (w *Watcher) Subscribe(name string) (unsubscribe func()) {
	if r, err := cluster.Type().Ref(w.client, name); err == nil {
		name = r.Name.String()
	}
	w.count(name, 1)
	return sync.OnceFunc(func() { w.count(name, -1) })
}

// count adds n to the subscriptions of a name.
func (w *Watcher) count(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.subscribed[name]
	if w.subscribed[name] = before + n; before+n == 0 {
		delete(w.subscribed, name)
	}
	if started := w.traversals > 0; started && (before == 0 || before+n == 0) {
		w.signal()
	}
}

// ResolveNow resolves the names of all LOGICAL_DNS clusters again (A74).
func (w *Watcher) ResolveNow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.watches.names {
		n.resolveNow()
	}
}

// signal makes the loop start a traversal.
func (w *Watcher) signal() {
	select {
	case w.changes <- struct{}{}:
	default:
	}
}

func (w *Watcher) loop() {
	defer close(w.ended)
	defer w.stop()
	for {
		select {
		case <-w.done:
			return
		case <-w.changes:
		}
		c, err, changed := w.traverse()
		if changed {
			w.options.Deliver(c, err)
		}
	}
}

// stop ends all watches.
func (w *Watcher) stop() {
	w.mu.Lock()
	w.traversals++
	w.prune(true)
	w.mu.Unlock()
	w.dns.Wait()
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
	if name, ok := firstPending(w.watches.clusters, w.traversals); ok {
		return w.unanswered(cluster.Type(), name)
	}
	if name, ok := firstPending(w.watches.endpoints, w.traversals); ok {
		return w.unanswered(endpoint.Type(), name)
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
