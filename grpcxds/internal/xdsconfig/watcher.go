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

// Options are what a Watcher is for.
type Options struct {
	// Listener is the name of the target's Listener.
	Listener string
	// Authority is the data-plane authority, which chooses the virtual host.
	Authority string
	// NodeID is the bootstrap's, for messages.
	NodeID string
	// Limit is the limit of the clusters that routes, aggregates and calls lead to, whether
	// they exist or not. The leaves of all aggregates together have a limit of 16 times as
	// many. 0 means 20,000.
	Limit int
	// Servers returns the servers that are asked for a resource, for messages; nil: they are
	// not named.
	Servers func(name xdstp.Name) ([]*bootstrap.Server, error)
	// DNS resolves the names of LOGICAL_DNS clusters; nil: gRPC's own resolver does.
	DNS resolver.Builder
	// Deliver takes every new configuration, one at a time. An error says why calls cannot
	// be routed (no usable listener, routes or virtual host); the configuration then has
	// what calls in flight still need. Configurations that were replaced before there was
	// time to deliver them are left out.
	Deliver func(c *Config, err error)
}

const defaultLimit = 20_000

// A Watcher watches all that a data-plane target depends on, and delivers a configuration
// when that is complete (gRFC A74). Its methods may be called from any goroutine, and
// within Deliver.
type Watcher struct {
	client  resource.Client
	options Options
	news    chan struct{} // has an element when something has changed
	done    chan struct{}
	over    chan struct{} // closed when the loop has ended

	closing atomic.Bool // a walk that is under way ends at once

	mu      sync.Mutex
	closed  bool
	version uint64         // of the newest change of any node
	turn    uint64         // of walking
	visits  uint64         // clusters that all turns together have looked at
	holds   map[string]int // by the name of a cluster or of a plugin's target
	nodes   nodes
	roots   roots
	told    told
	pending pending
	dns     sync.WaitGroup // goroutines of names
}

// New returns a Watcher that delivers nothing before Start. Close it.
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

// Start begins to watch. What is held before is in the first configuration.
func (w *Watcher) Start() { w.signal() }

// Close ends all that New and Start began. Afterwards, nothing is delivered. It must not be called
// within Deliver.
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

// Hold implements [Holder]. After Close it does nothing.
func (w *Watcher) Hold(name string) (release func()) {
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

// ResolveNow has the names of all LOGICAL_DNS clusters resolved again (A74).
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
