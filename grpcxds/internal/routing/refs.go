package routing

import (
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// refs are the clusters that a channel's table or calls use. They outlive the resolver. A call that
// begins while the channel becomes idle therefore finds its cluster in the next configuration.
type refs struct {
	mu     sync.Mutex
	subscriber lbtree.Subscriber
	live   map[string]*ref
}

// A ref keeps a cluster in the configuration while its count is positive. Each table with the
// cluster counts once, and each call counts once.
type ref struct {
	refs    *refs
	name    string
	count   atomic.Int64
	release func() // guarded by refs.mu
}

// bind sets the subscriber that keeps clusters. Nil removes it.
func (r *refs) bind(h lbtree.Subscriber) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscriber = h
	for _, one := range r.live {
		one.hold()
	}
}

// get returns the ref of a cluster and counts it.
func (r *refs) get(name string) *ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.live[name]; one != nil && one.acquire() {
		return one
	}
	one := &ref{refs: r, name: name}
	one.count.Store(1)
	one.hold()
	if r.live == nil {
		r.live = make(map[string]*ref)
	}
	r.live[name] = one
	return one
}

// hold keeps the cluster in the configuration. refs.mu is held.
func (r *ref) hold() {
	r.release = func() {}
	if r.refs.subscriber != nil {
		r.release = r.refs.subscriber.Subscribe(r.name)
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
	r.release()
}
