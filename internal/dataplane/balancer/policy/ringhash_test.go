package policy

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// A channel records the subchannels that its policies create, connect and close, by address.
type channel struct {
	balancer.ClientConn

	mu       sync.Mutex // guards subConns, because timers of pick_first create some
	subConns []*subConn
}

type subConn struct {
	balancer.SubConn

	addr     string
	listener func(balancer.SubConnState)
	health   func(balancer.SubConnState)
	connects int
	closed   bool
}

func (s *subConn) Connect() { s.connects++ }

func (s *subConn) Shutdown() { s.closed = true }

func (s *subConn) RegisterHealthListener(l func(balancer.SubConnState)) { s.health = l }

func (c *channel) NewSubConn(addrs []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	s := &subConn{addr: addrs[0].Addr, listener: o.StateListener}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subConns = append(c.subConns, s)
	return s, nil
}

// A bench is a ring of endpoints on a channel.
type bench struct {
	*testing.T

	loop    *serial.Loop
	channel channel
	policy  *ringHash
	last    balancer.State
}

func newBench(t *testing.T, addrs ...string) *bench {
	t.Helper()
	b := &bench{T: t, loop: serial.New(func() {})}
	b.policy = newRingHash(&lbtree.Env{Loop: b.loop, Conn: &b.channel, State: new(lbtree.State)}, func(s balancer.State) { b.last = s })
	b.policy.random = func(int) int { return 0 } // the endpoints connect in their order
	t.Cleanup(func() { b.loop.Close(b.policy.Close) })
	b.update(addrs...)
	return b
}

// do has f done, and all that comes of it.
func (b *bench) do(f func()) {
	b.loop.Do(f)
	for range 10 { // events make others
		b.loop.Do(func() {})
	}
}

func (b *bench) update(addrs ...string) {
	l := lbtree.Locality{Weight: 1}
	for _, a := range addrs {
		e := &lbtree.Endpoint{Weight: 1}
		e.Addresses = []resolver.Address{{Addr: a}}
		l.Endpoints = append(l.Endpoints, e)
	}
	b.do(func() {
		b.policy.Update(lbtree.Target{Policy: resource.LBConfig{Config: `{}`}, Localities: []lbtree.Locality{l}})
	})
}

// of returns the newest subchannel to an address.
func (b *bench) of(addr string) *subConn {
	for _, s := range slices.Backward(b.channel.subConns) {
		if s.addr == addr {
			return s
		}
	}
	return nil
}

// wants checks the addresses of the subchannels, in order, and the state.
func (b *bench) wants(when string, state connectivity.State, addrs ...string) {
	b.Helper()
	var open []string
	for _, s := range b.channel.subConns {
		if !s.closed {
			open = append(open, s.addr)
		}
	}
	if !slices.Equal(open, addrs) || b.last.ConnectivityState != state {
		b.Errorf("%s: subchannels to %q, %v; want %q, %v", when, open, b.last.ConnectivityState, addrs, state)
	}
}

func (b *bench) reports(addr string, state connectivity.State) {
	s := b.of(addr)
	b.do(func() { s.listener(balancer.SubConnState{ConnectivityState: state, ConnectionError: errRefused}) })
	if state == connectivity.Ready {
		b.do(func() { s.health(balancer.SubConnState{ConnectivityState: connectivity.Ready}) })
	}
}

var errRefused = errors.New("refused")

func TestEndpointsConnectWhenTheyAreAsked(t *testing.T) {
	b := newBench(t, "a", "b", "c")
	b.wants("at first", connectivity.Idle)
	b.do(b.policy.ExitIdle)
	b.wants("the channel shall not be idle", connectivity.Connecting, "a")
	if n := b.of("a").connects; n != 1 {
		t.Errorf("Connect was called %d times", n)
	}
	b.do(b.policy.ExitIdle)
	b.wants("something connects already", connectivity.Connecting, "a")
	b.reports("a", connectivity.Ready)
	b.wants("the endpoint is ready", connectivity.Ready, "a")
	b.do(func() { b.policy.members[1].connector.request() })
	b.wants("a call reaches the second endpoint", connectivity.Ready, "a", "b")
	b.reports("b", connectivity.Ready)

	b.reports("a", connectivity.Idle)
	b.wants("the first endpoint is idle again", connectivity.Ready, "a", "b")
	connects := b.of("a").connects
	b.do(func() { b.policy.members[0].connector.request() })
	if n := b.of("a").connects; n != connects+1 {
		t.Errorf("a call to an idle endpoint makes %d attempts to connect, want one", n-connects)
	}
	b.do(func() { b.policy.connect(b.policy.members[1]) })
	if n := b.of("b").connects; n != 1 {
		t.Errorf("Connect of a ready endpoint was called %d times", n)
	}
}

func TestEndpointsThatGoAreClosed(t *testing.T) {
	b := newBench(t, "a", "b")
	b.do(b.policy.ExitIdle)
	gone := b.policy.members[1]
	b.do(func() { gone.connector.request() })
	b.wants("both connect", connectivity.Connecting, "a", "b")
	b.update("a", "c")
	b.wants("the second endpoint is another one", connectivity.Connecting, "a")
	b.do(func() { b.policy.connect(gone) })
	b.wants("Connect of a removed endpoint was called", connectivity.Connecting, "a")
	b.update("a", "b")
	b.do(b.policy.ExitIdle)
	b.do(b.policy.Close)
	b.wants("closed", b.last.ConnectivityState)
}

func TestNothingToConnect(t *testing.T) {
	b := &bench{T: t, loop: serial.New(func() {})}
	b.policy = newRingHash(&lbtree.Env{Loop: b.loop, Conn: &b.channel, State: new(lbtree.State)}, func(s balancer.State) { b.last = s })
	b.do(b.policy.ExitIdle) // before it has endpoints
	b.wants("there are no endpoints", connectivity.Idle)
	b.loop.Close(b.policy.Close)
}

func TestFailuresConnectTheNext(t *testing.T) {
	b := newBench(t, "a", "b", "c")
	b.do(b.policy.ExitIdle)
	b.reports("a", connectivity.TransientFailure)
	if len(b.channel.subConns) != 2 {
		t.Errorf("%d subchannels, want a second one after the first has failed", len(b.channel.subConns))
	}
	b.reports("b", connectivity.TransientFailure)
	b.wants("two fail", connectivity.TransientFailure, "a", "b", "c")
}

// TestFirstIsConnected expects the failure of a later endpoint to connect the first one, which is idle.
func TestFirstIsConnected(t *testing.T) {
	b := newBench(t, "a", "b")
	b.do(func() { b.policy.members[1].connector.request() })
	b.reports("b", connectivity.TransientFailure)
	b.wants("the second fails", connectivity.Connecting, "b", "a")
}

// TestHopeless expects pickers to fail calls only when every endpoint has failed.
func TestHopeless(t *testing.T) {
	b := newBench(t, "a", "b")
	check := func(when string, want bool) {
		t.Helper()
		if p, ok := b.last.Picker.(*ringPicker); !ok || p.hopeless != want {
			t.Errorf("%s: the picker is %+v, want hopeless %t", when, b.last.Picker, want)
		}
	}
	check("both are idle", false)
	b.do(b.policy.ExitIdle)
	b.reports("a", connectivity.TransientFailure)
	check("one has failed", false)
	b.reports("b", connectivity.TransientFailure)
	check("both have failed", true)
}

// TestConnectsAnyIdleEndpoint expects attempts to connect without a call to start at a random endpoint,
// and to skip those that are not idle (A117).
func TestConnectsAnyIdleEndpoint(t *testing.T) {
	b := newBench(t, "a", "b", "c", "d")
	start := 2
	b.policy.random = func(n int) int {
		if n != 4 {
			t.Errorf("the random number is below %d, want 4", n)
		}
		return start
	}
	b.do(b.policy.ExitIdle)
	b.wants("the channel shall not be idle", connectivity.Connecting, "c")
	b.reports("c", connectivity.TransientFailure)
	b.wants("an endpoint fails", connectivity.Connecting, "c", "d")
	b.reports("d", connectivity.TransientFailure)
	b.wants("another one fails", connectivity.TransientFailure, "c", "d", "a")
	start = 0
	b.reports("a", connectivity.TransientFailure)
	b.wants("all but one have failed", connectivity.TransientFailure, "c", "d", "a", "b")
}

// TestClientsStartAtDifferentEndpoints expects the policies of many clients to connect each endpoint
// first.
func TestClientsStartAtDifferentEndpoints(t *testing.T) {
	first := make(map[string]bool)
	for range 500 { // with four endpoints, all are among them but for a chance of 1 in 10^62
		b := newBench(t, "a", "b", "c", "d")
		b.policy.random = newRingHash(nil, nil).random
		b.do(b.policy.ExitIdle)
		first[b.channel.subConns[0].addr] = true
		if len(first) == 4 {
			return
		}
	}
	t.Errorf("clients connect only %v first", first)
}
