package ringhash

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/internal/dataplane/rpcinfo"
)

// A picker is a ring and the states of its endpoints at one time.
type picker struct {
	ring      ring
	endpoints []snapshot
	header    string
	// connecting says that an endpoint is connecting.
	connecting bool
	// hopeless says that all endpoints have failed.
	hopeless bool
}

// A snapshot is the state of an endpoint at one time.
type snapshot struct {
	state  connectivity.State
	picker balancer.Picker
	wake   *waker
}

// A waker connects an idle endpoint, once.
type waker struct {
	asked atomic.Bool
	wake  func()
}

func (w *waker) ask() {
	if !w.asked.Load() && w.asked.CompareAndSwap(false, true) {
		w.wake()
	}
}

// Pick finds the endpoint of a call's hash, or the next endpoint on the ring that has not failed
// (A61). An idle endpoint is connected, and the call waits for it.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	hash, ok := p.hash(info)
	if !ok {
		return p.any(info)
	}
	first := p.ring.find(hash)
	if p.hopeless {
		return p.endpoints[p.ring[first].at].picker.Pick(info)
	}
	for i := range p.ring {
		e := &p.endpoints[p.at(first, i)]
		switch e.state {
		case connectivity.Ready:
			return e.picker.Pick(info)
		case connectivity.Idle:
			e.wake.ask()
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
		case connectivity.Connecting:
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
		default:
		}
	}
	return p.endpoints[p.ring[first].at].picker.Pick(info)
}

// any picks for a call without a hash. It returns the first ready endpoint after a random point on
// the ring. If no endpoint is connecting, it connects the first idle one on the way (A76).
func (p *picker) any(info balancer.PickInfo) (balancer.PickResult, error) {
	first := p.ring.find(rand.Uint64())
	asked := p.connecting
	for i := range p.ring {
		if p.hopeless {
			break
		}
		e := &p.endpoints[p.at(first, i)]
		switch {
		case e.state == connectivity.Ready:
			return e.picker.Pick(info)
		case e.state == connectivity.Idle && !asked:
			e.wake.ask()
			asked = true
		}
	}
	if asked {
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
	}
	return p.endpoints[p.ring[first].at].picker.Pick(info)
}

// at returns the endpoint that is i entries after the first.
func (p *picker) at(first, i int) int {
	if i += first; i >= len(p.ring) {
		i -= len(p.ring)
	}
	return p.ring[i].at
}

// hash returns the hash of a call: that of its route (A42), or that of a header (A76).
func (p *picker) hash(info balancer.PickInfo) (uint64, bool) {
	if p.header == "" {
		if c := rpcinfo.From(info.Ctx); c != nil {
			return c.Hash, c.HasHash
		}
		return 0, false
	}
	md, _ := metadata.FromOutgoingContext(info.Ctx)
	value := strings.Join(md.Get(p.header), ",")
	return xxhash.Sum64String(value), value != ""
}
