// Package xdsconfig makes the configuration of a data-plane target as one consistent value (gRFC
// A74). The resolver gives it to the LB policies, so that no call sees half of a change.
//
// A [Watcher] makes it from the target's Listener, the separate configurations of its HTTP filters
// (A104), its routes, their clusters and the clusters' endpoints. It delivers a [Config] once each of them is known, or known to be missing. A missing
// resource makes only the calls fail that need it.
package xdsconfig

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Config is the whole configuration of a channel. It is immutable.
//
// Without a usable listener or route, only Targets, Clusters and Plugins are set. They have the
// entries that calls in flight still need.
type Config struct {
	Listener *listener.Update
	Route    *route.Update
	// VirtualHost is the virtual host in Route for the channel's data-plane authority. It is nil with Options.AllHosts.
	VirtualHost *route.VirtualHost
	// Targets are the sorted names of the clusters that calls can be sent to: those of the routes of the virtual
	// host or of all virtual hosts, and those of [Watcher.Subscribe]. All are in Clusters.
	Targets []string
	// Plugins are the LB policies of the cluster specifier plugins that calls can be sent to. The
	// keys are those of [PluginTarget].
	Plugins map[string]resource.LBConfig
	// Clusters has the clusters of routes, aggregates and calls, by their names as the resources
	// write them.
	Clusters map[string]Cluster

	discovered discovered
}

// SameRouting reports whether calls are routed alike with both configurations, as long as their clusters are the same: the
// Listener, its HTTP filters and the routes are equal.
func (c *Config) SameRouting(o *Config) bool {
	return c.Listener == o.Listener && c.Route == o.Route && c.VirtualHost == o.VirtualHost &&
		slices.Equal(c.discovered.extensions, o.discovered.extensions)
}

const pluginPrefix = "cluster_specifier_plugin:"

// PluginTarget returns the name that stands for a cluster specifier plugin in place of a cluster.
// By the convention of gRPC, no cluster may have such a name.
func PluginTarget(plugin string) string { return pluginPrefix + plugin }

// VirtualHosts returns the virtual hosts that calls can use. It is empty without a usable route.
func (c *Config) VirtualHosts() iter.Seq[*route.VirtualHost] {
	return func(yield func(*route.VirtualHost) bool) {
		switch {
		case c.Route == nil:
		case c.VirtualHost != nil:
			yield(c.VirtualHost)
		default:
			for i := range c.Route.VirtualHosts {
				if !yield(&c.Route.VirtualHosts[i]) {
					return
				}
			}
		}
	}
}

// IsPluginTarget reports whether a name is one of [PluginTarget].
func IsPluginTarget(name string) bool { return strings.HasPrefix(name, pluginPrefix) }

// A Cluster is the state of one cluster. Either Err is set, or Update and one of the three ways of
// discovery.
type Cluster struct {
	// Err is the reason why the cluster, or every leaf of an aggregate, is unusable.
	Err    error
	Update *cluster.Update
	// Leaves are the names of an aggregate's leaf clusters, in order of preference (A37). It is nil
	// if the cluster is not an aggregate. They are in Config.Clusters.
	Leaves []string
	// Localities and Drops configure the calls of a leaf. They come from the EDS resource. DNS
	// gives one locality of one endpoint with all addresses (A61). Without localities, Note has the
	// reason.
	Localities []endpoint.Locality
	Drops      []endpoint.Drop
	// Note is added to errors of the endpoints. It has the newest errors of the resources that the
	// cluster depends on, or else the node ID (A88). With endpoints these errors are ambient. It is
	// not nil for a leaf.
	Note error
}

// Options configure a Watcher.
type Options struct {
	// Listener is the name of the target's Listener.
	Listener string
	// Authority is the data-plane authority, which chooses the virtual host.
	Authority string
	// AllHosts says that calls choose among all virtual hosts of the routes. Config.VirtualHost is nil then.
	AllHosts bool
	// NodeID is the ID of the bootstrap's node, for errors.
	NodeID string
	// Limit is the limit of the clusters that routes, aggregates and calls lead to, whether they
	// exist or not. It is also the limit of the list collections of their endpoints. The limit of the
	// leaves of all aggregates together is 16 times as high. 0 means 20,000.
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
	loop    *serial.Loop  // runs traversals
	ended   chan struct{} // closed when all watches have ended

	signaled atomic.Bool // a traversal is due
	closing  atomic.Bool // ends a running traversal at once

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
		ended:      make(chan struct{}),
		subscribed: make(map[string]int), watches: newWatches(),
	}
	w.loop = serial.New(w.publish)
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
		w.loop.Close(w.stop)
		close(w.ended)
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

// signal makes the loop start a traversal. Signals before the traversal have no further effect.
func (w *Watcher) signal() {
	if !w.signaled.Swap(true) {
		w.loop.Post(func() { w.signaled.Store(false) })
	}
}

// publish delivers the configuration, if it has changed. The loop calls it.
func (w *Watcher) publish() {
	if c, err, changed := w.traverse(); changed && !w.closing.Load() {
		w.options.Deliver(c, err)
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
