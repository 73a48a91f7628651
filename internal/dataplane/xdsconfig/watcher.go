package xdsconfig

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/cluster"
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
	news    chan struct{} // has an element when something has changed
	done    chan struct{}
	over    chan struct{} // closed when the loop has ended

	closing atomic.Bool // ends a running walk at once

	mu      sync.Mutex
	closed  bool
	version uint64         // of the newest change of any node
	turn    uint64         // the number of walks
	visits  uint64         // the number of clusters that all turns have visited
	holds   map[string]int // by the name of a cluster or of a plugin's target
	nodes   nodes
	roots   roots
	told    told
	pending pending
	dns     sync.WaitGroup // the goroutines of DNS names
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
		news: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}),
		holds: make(map[string]int), nodes: newNodes(),
	}
	go w.loop()
	return w
}

// Start starts watching. The first configuration has the clusters that were held before Start.
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
	<-w.over
}

// Subscribe keeps a cluster in later configurations that no route may name (gRFC A74), until
// unsubscribe is called. Configurations do not wait for a cluster that is new. After Close it does
// nothing.
func (w *Watcher) Subscribe(name string) (unsubscribe func()) {
	if r, err := cluster.Type().Ref(w.client, name); err == nil {
		name = r.Name.String()
	}
	w.hold(name, 1)
	return sync.OnceFunc(func() { w.hold(name, -1) })
}

func (w *Watcher) hold(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.holds[name]
	if w.holds[name] = before + n; before+n == 0 {
		delete(w.holds, name)
	}
	if started := w.turn > 0; started && (before == 0 || before+n == 0) {
		w.signal()
	}
}

// ResolveNow resolves the names of all LOGICAL_DNS clusters again (A74).
func (w *Watcher) ResolveNow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.nodes.names {
		n.resolveNow()
	}
}

// signal wakes the loop.
func (w *Watcher) signal() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

func (w *Watcher) loop() {
	defer close(w.over)
	defer w.stop()
	for {
		select {
		case <-w.done:
			return
		case <-w.news:
		}
		c, err, news := w.walk()
		if news {
			w.options.Deliver(c, err)
		}
	}
}

// stop ends all subscriptions.
func (w *Watcher) stop() {
	w.mu.Lock()
	w.turn++
	w.prune(true)
	w.mu.Unlock()
	w.dns.Wait()
}
