package routing

import (
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/grpcxds/internal/xdsconfig"
)

// refs are the clusters that a channel's calls can be sent to, or are under way to. They
// outlive the resolver, so that a call that begins while the channel becomes idle finds
// its cluster in the configuration of the next one.
type refs struct {
	mu     sync.Mutex
	holder xdsconfig.Holder
	live   map[string]*ref
}

// A ref keeps a cluster in the configuration while it is counted: once by each table that
// has it, and once by each call.
type ref struct {
	refs    *refs
	name    string
	count   atomic.Int64
	release func() // with refs.mu
}

// bind makes a holder the one that keeps clusters; nil: there is none now.
func (r *refs) bind(h xdsconfig.Holder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holder = h
	for _, one := range r.live {
		one.hold()
	}
}

// get returns the counted ref of a cluster.
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

// hold has the cluster in the configuration. refs.mu is held.
func (r *ref) hold() {
	r.release = func() {}
	if r.refs.holder != nil {
		r.release = r.refs.holder.Hold(r.name)
	}
}

// acquire counts once more, unless nothing was counted any longer.
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

// drop takes back what acquire or get counted.
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
