package policy

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A leafChannel makes subchannels that do nothing.
type leafChannel struct {
	balancer.ClientConn
	made     []*leafSubConn
	resolved int
}

type leafSubConn struct {
	balancer.SubConn
	listener func(balancer.SubConnState)
	shut     bool
}

func (s *leafSubConn) Connect()  {}
func (s *leafSubConn) Shutdown() { s.shut = true }

func (c *leafChannel) NewSubConn(_ []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	s := &leafSubConn{listener: opts.StateListener}
	c.made = append(c.made, s)
	return s, nil
}

func (c *leafChannel) ResolveNow(resolver.ResolveNowOptions) { c.resolved++ }

// This policy creates a subchannel, does not shut it down, and reports states after its end.
type careless struct {
	cc     balancer.ClientConn
	states []connectivity.State
	err    error
}

func (*careless) Name() string { return "careless" }

func (c *careless) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	c.cc = cc
	return c
}

func (c *careless) UpdateClientConnState(s balancer.ClientConnState) error {
	_, err := c.cc.NewSubConn(s.ResolverState.Addresses[:1], balancer.NewSubConnOptions{}) //nolint:staticcheck // there is no other way to make one
	c.cc.UpdateState(lbtree.Connecting())
	if err == nil {
		err = c.err
	}
	return err
}

func (c *careless) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	c.states = append(c.states, s.ConnectivityState)
}
func (*careless) ResolverError(error) {}
func (*careless) ExitIdle()           {}
func (c *careless) Close()            { c.cc.UpdateState(lbtree.Connecting()) }

func leafTarget(weights ...uint32) lbtree.Target {
	l := lbtree.Locality{Weight: 1}
	for i, w := range weights {
		l.Endpoints = append(l.Endpoints, &lbtree.Endpoint{
			Endpoint: resolver.Endpoint{Addresses: []resolver.Address{{Addr: string(rune('a' + i))}}}, Weight: w,
		})
	}
	return lbtree.Target{Policy: resource.LBConfig{Name: "careless", Config: `{}`}, Localities: []lbtree.Locality{l}}
}

func TestLeafLifetime(t *testing.T) {
	loop := serial.New(func() {})
	defer loop.Close(func() {})
	cc, policy := new(leafChannel), &careless{err: balancer.ErrBadResolverState}
	reports := 0
	var p *leaf
	loop.Do(func() {
		p = newLeaf(&lbtree.Env{Loop: loop, Conn: cc}, policy, func(balancer.State) { reports++ })
		p.Update(leafTarget(1))
		if reports > 0 {
			t.Error("the policy reported a state before the end of its update")
		}
	})
	loop.Do(func() {
		if reports != 1 {
			t.Errorf("%d reports, want 1", reports)
		}
		if cc.resolved != 1 {
			t.Errorf("re-resolved %d times after an unusable update; want once", cc.resolved)
		}
		cc.made[0].listener(balancer.SubConnState{ConnectivityState: connectivity.Ready})
		p.Close()
		cc.made[0].listener(balancer.SubConnState{ConnectivityState: connectivity.Idle})
	})
	loop.Do(func() {
		if reports != 1 {
			t.Error("a closed policy reports")
		}
		if len(policy.states) != 1 || policy.states[0] != connectivity.Ready {
			t.Errorf("the policy received %v; want READY, and nothing after Close", policy.states)
		}
		if !cc.made[0].shut {
			t.Error("a subchannel was left open")
		}
	})
}

// TestLeafClosesItsSubchannels expects Close to shut down all open subchannels, and no other, in
// whatever order they have ended.
func TestLeafClosesItsSubchannels(t *testing.T) {
	for _, ended := range [][]int{nil, {0}, {1}, {0, 2}, {2, 1, 0}} {
		loop := serial.New(func() {})
		cc := new(leafChannel)
		loop.Do(func() {
			p := newLeaf(&lbtree.Env{Loop: loop, Conn: cc}, &careless{}, func(balancer.State) {})
			for range 3 {
				p.Update(leafTarget(1)) // creates a subchannel
			}
			for _, i := range ended {
				cc.made[i].listener(balancer.SubConnState{ConnectivityState: connectivity.Shutdown})
			}
			p.Update(leafTarget(1))
			p.Close()
		})
		loop.Close(func() {})
		for i, sc := range cc.made {
			if sc.shut == slices.Contains(ended, i) {
				t.Errorf("of 4 subchannels, of which %v had ended, %d was shut down: %t", ended, i, sc.shut)
			}
		}
	}
}

// While the configuration is unusable, the host ignores the states of the policy.
func TestBadLeafConfiguration(t *testing.T) {
	loop := serial.New(func() {})
	defer loop.Close(func() {})
	policy := &picky{}
	var last balancer.State
	var p *leaf
	update := func(config string) {
		to := leafTarget(1)
		to.Policy.Config = config
		loop.Do(func() {
			if p == nil {
				p = newLeaf(&lbtree.Env{Loop: loop, Conn: new(leafChannel)}, policy, func(s balancer.State) { last = s })
			}
			p.Update(to)
		})
		loop.Do(func() {})
	}
	expect := func(when string, want connectivity.State) {
		t.Helper()
		loop.Do(func() {
			if last.ConnectivityState != want {
				t.Errorf("%s: %v, want %v", when, last.ConnectivityState, want)
			}
		})
	}
	update(`"good"`)
	update(`"bad"`)
	expect("with a bad one", connectivity.TransientFailure)
	policy.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Ready})
	expect("the policy still runs", connectivity.TransientFailure)
	update(`"good"`)
	expect("with a good one again", connectivity.Ready)
}

// picky accepts only the configuration "good", and reports the states that the test sets.
type picky struct{ careless }

func (p *picky) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	p.cc = cc
	return p
}

func (*picky) UpdateClientConnState(balancer.ClientConnState) error { return nil }

func (*picky) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	if string(text) != `"good"` {
		return nil, errors.New("not good")
	}
	return struct {
		serviceconfig.LoadBalancingConfig
	}{}, nil
}

// A recorder is a policy that records the configurations that it parses.
type recorder struct {
	picky
	name    string
	configs []string
}

func (r *recorder) Name() string { return r.name }

func (r *recorder) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	r.configs = append(r.configs, string(text))
	return r.picky.ParseConfig(json.RawMessage(`"good"`))
}

// TestShuffleOfPickFirst expects the leaf to shuffle in place of pick_first. Other policies keep
// their configuration.
func TestShuffleOfPickFirst(t *testing.T) {
	const shuffle = `{"shuffleAddressList":true}`
	for name, want := range map[string]string{"pick_first": `{}`, "careless": shuffle} {
		loop := serial.New(func() {})
		policy := &recorder{name: name}
		loop.Do(func() {
			to := leafTarget(1, 2)
			to.Policy.Config = shuffle
			newLeaf(&lbtree.Env{Loop: loop, Conn: new(leafChannel)}, policy, func(balancer.State) {}).Update(to)
		})
		loop.Close(func() {})
		if len(policy.configs) != 1 || policy.configs[0] != want {
			t.Errorf("%s parses %q, want %s", name, policy.configs, want)
		}
	}
}

// pick_first chooses each endpoint first as often as its weight demands (A113), within four
// standard deviations.
func TestShuffled(t *testing.T) {
	if config, ok := unshuffled(`{"shuffleAddressList":true}`); !ok || config != `{}` {
		t.Errorf("unshuffled = %s, %t", config, ok)
	}
	if config, ok := unshuffled(`{"shuffleAddressList":false}`); ok || config == `{}` {
		t.Errorf("unshuffled = %s, %t; must leave it alone", config, ok)
	}
	endpoints := lbtree.Flatten(leafTarget(1, 3, 6).Localities)
	const n = 10000
	first := make(map[string]int)
	for range n {
		order := shuffled(endpoints)
		if len(order) != 3 {
			t.Fatal("endpoints got lost")
		}
		first[order[0].Addresses[0].Addr]++
	}
	for addr, p := range map[string]float64{"a": 0.1, "b": 0.3, "c": 0.6} {
		if d := math.Abs(float64(first[addr]) - n*p); d > 6*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%s was first %d times of %d, want %v", addr, first[addr], n, n*p)
		}
	}
}
