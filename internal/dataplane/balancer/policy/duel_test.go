package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/balancer/weightedroundrobin"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// A side is one of two policies that get the same events. It is the channel of the policy.
type side struct {
	balancer.ClientConn

	policy  lbtree.Policy
	last    balancer.State
	metrics recordedMetrics

	mu   sync.Mutex // guards the rest, because timers of pick_first use it too
	made []*sideSubConn
}

// A sideSubConn records the attempts to connect. The mutex of the side guards it.
type sideSubConn struct {
	balancer.SubConn

	side     *side
	addr     string
	listener func(balancer.SubConnState)
	health   func(balancer.SubConnState)
	state    connectivity.State
	asked    bool // to connect, since the last state
	closed   bool
}

func (s *side) NewSubConn(addrs []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := &sideSubConn{side: s, addr: addrs[0].Addr, listener: o.StateListener}
	s.made = append(s.made, sc)
	return sc, nil
}

// MetricsRecorder returns a recorder that counts.
func (s *side) MetricsRecorder() estats.MetricsRecorder { return &s.metrics }

func (*side) ResolveNow(resolver.ResolveNowOptions) {}

func (s *sideSubConn) set(f func()) {
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	f()
}

func (s *sideSubConn) Connect() { s.set(func() { s.asked = true }) }

func (s *sideSubConn) Shutdown() { s.set(func() { s.closed = true }) }

func (s *sideSubConn) RegisterHealthListener(l func(balancer.SubConnState)) {
	s.set(func() { s.health = l })
}

// A duel runs one of our policies and grpc-go's side by side, in a bubble.
type duel struct {
	*testing.T

	loop         *serial.Loop
	lb           resource.LBConfig // of updates
	ours, theirs side
}

func newDuel(t *testing.T, a *attributes.Attributes) *duel {
	d := &duel{T: t, loop: serial.New(func() {})}
	env := func(s *side) *lbtree.Env { return &lbtree.Env{Loop: d.loop, Conn: s, Attributes: a} }
	d.loop.Do(func() {
		d.ours.policy = newRoundRobin(env(&d.ours), func(s balancer.State) { d.ours.last = s })
		d.theirs.policy = newLeaf(env(&d.theirs), balancer.Get(roundrobin.Name), func(s balancer.State) { d.theirs.last = s })
	})
	return d
}

// newWeightedDuel is a duel of weighted_round_robin with a configuration.
func newWeightedDuel(t *testing.T, config string) *duel {
	t.Helper()
	d := &duel{T: t, loop: serial.New(func() {}), lb: resource.LBConfig{Name: weightedroundrobin.Name, Config: config}}
	env := func(s *side) *lbtree.Env { return &lbtree.Env{Loop: d.loop, Conn: s} }
	d.loop.Do(func() {
		d.ours.policy = newWeighted(env(&d.ours), func(s balancer.State) { d.ours.last = s })
		d.theirs.policy = newLeaf(env(&d.theirs), balancer.Get(weightedroundrobin.Name), func(s balancer.State) { d.theirs.last = s })
	})
	return d
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

func (d *duel) both(f func(*side)) {
	d.loop.Do(func() {
		f(&d.ours)
		f(&d.theirs)
	})
	synctest.Wait()
}

func (d *duel) close() {
	d.loop.Close(func() {
		d.ours.policy.Close()
		d.theirs.policy.Close()
	})
	for _, s := range []*side{&d.ours, &d.theirs} {
		if open := s.open(); len(open) > 0 {
			d.Errorf("open after Close: %v", open)
		}
	}
}

func (d *duel) update(endpoints ...*lbtree.Endpoint) {
	d.both(func(s *side) {
		s.policy.Update(lbtree.Target{Policy: d.lb, Localities: []lbtree.Locality{{Weight: 1, Endpoints: endpoints}}})
	})
}

// reports makes the newest open subchannel to an address report a state. Health follows READY.
func (d *duel) reports(addr string, state connectivity.State, err error) {
	d.both(func(s *side) {
		if sc := s.newest(addr); sc != nil {
			sc.set(func() { sc.health, sc.state, sc.asked = nil, state, false })
			sc.listener(balancer.SubConnState{ConnectivityState: state, ConnectionError: err})
		}
	})
}

// healthy reports the health of the connection to an address.
func (d *duel) healthy(addr string, state connectivity.State) {
	d.both(func(s *side) {
		if sc := s.newest(addr); sc != nil && sc.health != nil {
			sc.health(balancer.SubConnState{ConnectivityState: state, ConnectionError: errRefused})
		}
	})
}

func (s *side) newest(addr string) *sideSubConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sc := range slices.Backward(s.made) {
		if sc.addr == addr && !sc.closed {
			return sc
		}
	}
	return nil
}

// open returns the open subchannels, and whether each was told to connect since its last state.
func (s *side) open() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]bool)
	for _, sc := range s.made {
		if !sc.closed {
			out[sc.addr] = sc.asked
		}
	}
	return out
}

// picks returns the number of picks by result.
func (s *side) picks(n int) map[string]int {
	out := make(map[string]int)
	for range n {
		r, err := s.last.Picker.Pick(balancer.PickInfo{})
		result := fmt.Sprint(err)
		if sc, ok := r.SubConn.(*sideSubConn); ok && err == nil {
			result = sc.addr
		}
		out[result]++
	}
	return out
}

func (d *duel) compare(when string) {
	d.Helper()
	ours, theirs := d.ours.last.ConnectivityState, d.theirs.last.ConnectivityState
	if ours != theirs {
		d.Errorf("%s: the state is %v, grpc-go's is %v", when, ours, theirs)
		return
	}
	if got, want := d.ours.open(), d.theirs.open(); !maps.Equal(got, want) {
		d.Errorf("%s: the subchannels are %v, grpc-go's are %v", when, got, want)
	}
	const n = 840 // a multiple of the number of ready endpoints
	got, want := d.ours.picks(n), d.theirs.picks(n)
	if theirs == connectivity.TransientFailure { // their picker has the errors of all endpoints
		for result := range got {
			if _, ok := want[result]; !ok {
				d.Errorf("%s: calls fail with %q, grpc-go's fail with %v", when, result, want)
			}
		}
		return
	}
	if !maps.Equal(got, want) {
		d.Errorf("%s: the picks are %v, grpc-go's are %v", when, got, want)
	}
}

// connected returns a policy of endpoints with these addresses, all of them ready.
func connected(t *testing.T, addrs ...string) *duel {
	t.Helper()
	return newDuel(t, nil).connect(addrs...)
}

// connect makes the endpoints those with these addresses, all of them ready.
func (d *duel) connect(addrs ...string) *duel {
	d.update(endpointsOf(addrs...)...)
	for _, addr := range addrs {
		d.reports(addr, connectivity.Connecting, nil)
		d.reports(addr, connectivity.Ready, nil)
		d.healthy(addr, connectivity.Ready)
	}
	return d
}

func endpointsOf(addrs ...string) []*lbtree.Endpoint {
	out := make([]*lbtree.Endpoint, 0, len(addrs))
	for _, addr := range addrs {
		e := &lbtree.Endpoint{Weight: 1}
		for a := range strings.SplitSeq(addr, "+") {
			e.Addresses = append(e.Addresses, resolver.Address{Addr: a})
		}
		out = append(out, e)
	}
	return out
}
