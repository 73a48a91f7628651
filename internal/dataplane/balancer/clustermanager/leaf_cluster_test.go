package clustermanager

import (
	"errors"
	"log/slog"
	"sync"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A channel creates subchannels that the test controls.
type channel struct {
	balancer.ClientConn
	mu       sync.Mutex // guards made, because timers of pick_first create subchannels too
	made     []*connection
	resolved int
}

type connection struct {
	balancer.SubConn
	addr     string
	listener func(balancer.SubConnState)
	health   func(balancer.SubConnState)
	shut     bool
	connects int
}

func (c *connection) Connect()                                             { c.connects++ }
func (c *connection) Shutdown()                                            { c.shut = true }
func (c *connection) RegisterHealthListener(l func(balancer.SubConnState)) { c.health = l }

func (c *channel) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &connection{addr: addrs[0].Addr, listener: opts.StateListener}
	c.made = append(c.made, s)
	return s, nil
}

func (c *channel) ResolveNow(resolver.ResolveNowOptions) { c.resolved++ }

// A stage is a cluster on a channel.
type stage struct {
	loop    *serial.Loop
	channel channel
	cluster *leafCluster
	last    balancer.State
}

func newStage(t *testing.T) *stage {
	s := new(stage)
	s.loop = serial.New(func() {})
	tree := &lbtree.Env{Loop: s.loop, Conn: &s.channel, State: &lbtree.State{
		Breakers: new(breaker.Set), Logger: slog.New(slog.DiscardHandler),
	}}
	s.loop.Do(func() { s.cluster = newLeafCluster(tree, "c", func(state balancer.State) { s.last = state }) })
	t.Cleanup(func() { s.loop.Close(s.cluster.Close) })
	return s
}

// do calls f and waits for all effects.
func (s *stage) do(f func()) {
	s.loop.Do(f)
	for range 10 { // events make others
		s.loop.Do(func() {})
	}
}

func leafConfig(d cluster.Discovery, addrs ...string) xdsconfig.Cluster {
	l := endpoint.Locality{Weight: 1}
	for _, a := range addrs {
		l.Endpoints = append(l.Endpoints, endpoint.New(a))
	}
	return xdsconfig.Cluster{
		Update:     &cluster.Update{Discovery: d, LBPolicy: resource.LBConfig{Name: "round_robin", Config: `{}`}, MaxRequests: 9},
		Localities: []endpoint.Locality{l}, Note: errors.New("node x"),
	}
}

// Policies re-resolve names only for clusters that are found by DNS (A37).
func TestResolveNow(t *testing.T) {
	for name, test := range map[string]struct {
		discovery cluster.Discovery
		want      bool
	}{"EDS": {cluster.EDS{}, false}, "LOGICAL_DNS": {cluster.LogicalDNS{}, true}} {
		s := newStage(t)
		s.do(func() { s.cluster.Update(leafConfig(test.discovery, "a")) })
		s.do(func() {
			s.cluster.env.Conn.ResolveNow(resolver.ResolveNowOptions{})
			if got := s.channel.resolved > 0; got != test.want {
				t.Errorf("%s: resolved again %t, want %t", name, got, test.want)
			}
		})
	}
}

// The health of one connection does not apply to the next one.
func TestHealthIsOfOneConnection(t *testing.T) {
	s := newStage(t)
	state := func(to connectivity.State) {
		s.do(func() { s.channel.made[0].listener(balancer.SubConnState{ConnectivityState: to}) })
	}
	expect := func(when string, want connectivity.State) {
		t.Helper()
		s.do(func() {
			if got := s.last.ConnectivityState; got != want {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		})
	}
	s.do(func() { s.cluster.Update(leafConfig(cluster.EDS{}, "a")) })
	state(connectivity.Ready)
	expect("before the health is known", connectivity.Connecting)
	var old func(balancer.SubConnState)
	s.do(func() {
		old = s.channel.made[0].health
		old(balancer.SubConnState{ConnectivityState: connectivity.Ready})
	})
	expect("healthy", connectivity.Ready)
	state(connectivity.Idle)
	state(connectivity.Connecting)
	state(connectivity.Ready)
	s.do(func() { old(balancer.SubConnState{ConnectivityState: connectivity.Ready}) })
	expect("connected again, with the health of the last connection", connectivity.Connecting)
	s.do(func() { s.channel.made[0].health(balancer.SubConnState{ConnectivityState: connectivity.Ready}) })
	expect("healthy again", connectivity.Ready)
}

// A removed cluster closes its connections. So does Close.
func TestLostCluster(t *testing.T) {
	s := newStage(t)
	s.do(func() { s.cluster.Update(leafConfig(cluster.EDS{}, "a", "b")) })
	s.do(func() { s.cluster.Update(xdsconfig.Cluster{Err: errors.New("removed")}) })
	s.do(func() {
		for _, c := range s.channel.made {
			if !c.shut {
				t.Errorf("the connection to %s is open", c.addr)
			}
		}
		if f, ok := s.last.Picker.(lbtree.Fail); !ok || f.Err.Error() != `cluster "c": removed` || len(s.channel.made) != 2 {
			t.Errorf("the picker is %v, %d connections", s.last.Picker, len(s.channel.made))
		}
		s.cluster.Update(leafConfig(cluster.EDS{}, "a"))
	})
	s.do(func() {
		if len(s.channel.made) != 3 || s.channel.made[2].shut {
			t.Error("the cluster is back, but does not connect")
		}
	})
}
