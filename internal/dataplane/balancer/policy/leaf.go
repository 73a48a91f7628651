package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A leaf runs a policy of grpc's registry: round_robin, pick_first, or a policy of the program (gRFC
// A52).
type leaf struct {
	env     *lbtree.Env
	report  lbtree.Report
	builder balancer.Builder
	b       balancer.Balancer
	closed  bool
	last    balancer.State // the last state that the policy reported
	err     error          // why the configuration is unusable; overrides last

	config serviceconfig.LoadBalancingConfig // for pass; nil: the policy has none

	mu sync.Mutex
	// first is an open subchannel or nil, and others are the rest. A tree has a pick_first for each
	// endpoint, and most of them never have a second subchannel.
	first  balancer.SubConn
	others map[balancer.SubConn]bool
}

// newLeaf starts a policy. The loop makes all calls of the policy. As gRPC guarantees, no two are
// concurrent, except for those that the policy itself starts.
func newLeaf(env *lbtree.Env, builder balancer.Builder, report lbtree.Report) *leaf {
	p := &leaf{env: env, report: report, builder: builder, last: lbtree.Connecting()}
	p.b = builder.Build(&leafConn{ClientConn: env.Conn, policy: p}, env.Options)
	return p
}

// Update gives the policy the endpoints of all localities of the target.
func (p *leaf) Update(t lbtree.Target) {
	endpoints := lbtree.Flatten(t.Localities)
	config, shuffle := t.Policy.Config, false
	if p.builder.Name() == pickfirst.Name {
		config, shuffle = unshuffled(config)
	}
	if shuffle {
		endpoints = shuffled(endpoints)
	}
	last := p.err
	if p.err = p.configure(config); p.err != nil {
		p.report(lbtree.Failure(p.err))
		return
	}
	if last != nil {
		p.report(p.last)
	}
	state := resolver.State{
		Attributes: p.env.Attributes,
		Endpoints:  make([]resolver.Endpoint, 0, len(endpoints)), Addresses: make([]resolver.Address, 0, len(endpoints)),
	}
	for i := range endpoints {
		state.Endpoints = append(state.Endpoints, endpoints[i].Endpoint.Endpoint)
		state.Addresses = append(state.Addresses, endpoints[i].Addresses...)
	}
	p.pass(state)
}

// pass gives the policy an unmodified state, with the current configuration.
func (p *leaf) pass(state resolver.State) {
	err := p.b.UpdateClientConnState(balancer.ClientConnState{ResolverState: state, BalancerConfig: p.config})
	if errors.Is(err, balancer.ErrBadResolverState) {
		p.env.Conn.ResolveNow(resolver.ResolveNowOptions{})
	}
}

// configure parses a configuration even if its text has not changed. A policy may modify the
// parsed value, as rls_experimental does, and would then see no change in it.
func (p *leaf) configure(raw string) error {
	parser, ok := p.builder.(balancer.ConfigParser)
	if !ok {
		return nil
	}
	config, err := parser.ParseConfig(json.RawMessage(raw))
	if err != nil {
		return fmt.Errorf("LB policy %s: %w", p.builder.Name(), err)
	}
	p.config = config
	return nil
}

// ExitIdle makes the policy connect.
func (p *leaf) ExitIdle() { p.b.ExitIdle() }

// Close closes the policy, and shuts down the subchannels that it has left open.
func (p *leaf) Close() {
	p.closed = true
	p.b.Close()
	p.mu.Lock()
	left := slices.Collect(maps.Keys(p.others))
	if p.first != nil {
		left = append(left, p.first)
	}
	p.mu.Unlock()
	for _, sc := range left {
		sc.Shutdown()
	}
}

// A leafConn is the ClientConn of a policy. It is safe for concurrent use.
type leafConn struct {
	balancer.ClientConn // the cluster's
	policy              *leaf
}

// UpdateState reports the state on the loop.
func (c *leafConn) UpdateState(s balancer.State) {
	c.policy.env.Loop.Post(func() {
		p := c.policy
		if p.closed {
			return
		}
		if p.last = s; p.err == nil {
			p.report(s)
		}
	})
}

// NewSubConn makes a subchannel. Its listener is not called after the policy was closed.
func (c *leafConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	p := c.policy
	listener := opts.StateListener
	var sc balancer.SubConn
	opts.StateListener = func(s balancer.SubConnState) {
		if s.ConnectivityState == connectivity.Shutdown {
			p.forget(sc)
		}
		switch {
		case p.closed:
		case listener != nil:
			listener(s)
		default:
			p.b.UpdateSubConnState(sc, s) //nolint:staticcheck // policies may still use this method
		}
	}
	sc, err := c.ClientConn.NewSubConn(addrs, opts) //nolint:staticcheck // there is no other way to make one
	if err != nil {
		return nil, err
	}
	p.remember(sc)
	return sc, nil
}

// RemoveSubConn shuts a subchannel down. Older policies use it.
func (c *leafConn) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses changes the addresses of a subchannel.
func (c *leafConn) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	sc.UpdateAddresses(addrs) //nolint:staticcheck // policies may still do so
}

func (p *leaf) remember(sc balancer.SubConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.first == nil:
		p.first = sc
	case p.others == nil:
		p.others = map[balancer.SubConn]bool{sc: true}
	default:
		p.others[sc] = true
	}
}

func (p *leaf) forget(sc balancer.SubConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == sc {
		p.first = nil
	}
	delete(p.others, sc)
}

// unshuffled removes the shuffling from a configuration of pick_first. grpc's own shuffling cannot
// use the endpoints' weights (A113).
func unshuffled(config string) (string, bool) {
	var c struct {
		Shuffle bool `json:"shuffleAddressList"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil || !c.Shuffle {
		return config, false
	}
	return `{}`, true
}

// shuffled returns endpoints in a random order. Endpoints with more weight are more likely to be
// early (A113). It uses the weighted sampling of Efraimidis and Spirakis.
func shuffled(endpoints []lbtree.Weighted) []lbtree.Weighted {
	type keyed struct {
		key float64
		lbtree.Weighted
	}
	order := make([]keyed, 0, len(endpoints))
	for _, e := range endpoints {
		// The logarithm of u^(1/weight), because rounding would lose the power for small weights.
		order = append(order, keyed{math.Log(rand.Float64()) / float64(e.Share), e})
	}
	slices.SortFunc(order, func(a, b keyed) int { return cmp.Compare(b.key, a.key) })
	out := make([]lbtree.Weighted, 0, len(order))
	for _, k := range order {
		out = append(out, k.Weighted)
	}
	return out
}
