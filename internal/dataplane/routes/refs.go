package routes

import (
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// Refs are the clusters that the table and the requests of a target use. They outlive the resolver of a channel. A call
// that begins while the channel becomes idle therefore finds its cluster in the next configuration. The zero value is
// ready for use.
type Refs struct {
	mu         sync.Mutex
	subscriber lbtree.Subscriber
	live       map[string]*ref
}

// A ref keeps a cluster in the configuration while its count is positive. Each table with the
// cluster counts once, and each request counts once.
type ref struct {
	refs        *Refs
	name        string
	count       atomic.Int64
	unsubscribe func() // guarded by Refs.mu
}

// Bind sets the subscriber that keeps clusters. Nil removes it.
func (r *Refs) Bind(s lbtree.Subscriber) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscriber = s
	for _, f := range r.live {
		f.subscribe()
	}
}

// get returns the ref of a cluster and counts it.
func (r *Refs) get(name string) *ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.live[name]; f != nil && f.acquire() {
		return f
	}
	f := &ref{refs: r, name: name}
	f.count.Store(1)
	f.subscribe()
	if r.live == nil {
		r.live = make(map[string]*ref)
	}
	r.live[name] = f
	return f
}

// subscribe keeps the cluster in the configuration. Refs.mu is held.
func (r *ref) subscribe() {
	r.unsubscribe = func() {}
	if r.refs.subscriber != nil {
		r.unsubscribe = r.refs.subscriber.Subscribe(r.name)
	}
}

// acquire counts the ref once more. It returns false if the count is 0.
func (r *ref) acquire() bool {
	for {
		n := r.count.Load()
		if n == 0 {
			return false
		}
		if r.count.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// drop reverses one acquire or get.
func (r *ref) drop() {
	if r.count.Add(-1) > 0 {
		return
	}
	r.refs.mu.Lock()
	defer r.refs.mu.Unlock()
	if r.refs.live[r.name] == r {
		delete(r.refs.live, r.name)
	}
	r.unsubscribe()
}
