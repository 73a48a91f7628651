// Package hosted runs a policy of grpc's registry as a leaf of the tree: round_robin, pick_first,
// or a policy of the program (gRFC A52).
package hosted

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
)

// A Policy is a registered policy.
type Policy struct {
	env     *node.Env
	report  node.Report
	builder balancer.Builder
	b       balancer.Balancer
	closed  bool
	last    balancer.State // the last state that the policy reported
	err     error          // why the configuration is unusable; overrides last

	config serviceconfig.LoadBalancingConfig // for Pass; nil: the policy has none

	mu       sync.Mutex
	subConns map[balancer.SubConn]bool
}

// New starts a policy. The loop makes all calls of the policy. As gRPC guarantees, no two are
// concurrent, except for those that the policy itself starts.
func New(env *node.Env, builder balancer.Builder, report node.Report) *Policy {
	p := &Policy{env: env, report: report, builder: builder, last: node.Connecting(), subConns: make(map[balancer.SubConn]bool)}
	p.b = builder.Build(&conn{ClientConn: env.Conn, policy: p}, env.Options)
	return p
}

// Update gives the policy the endpoints of all localities of the target.
func (p *Policy) Update(t node.Target) {
	endpoints := node.Flatten(t.Localities)
	config, shuffle := t.Policy.Config, false
	if p.builder.Name() == pickfirst.Name {
		config, shuffle = unshuffled(config)
	}
	if shuffle {
		endpoints = shuffled(endpoints)
	}
	last := p.err
	if p.err = p.configure(config); p.err != nil {
		p.report(node.Failure(p.err))
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
	p.Pass(state)
}

// Pass gives the policy an unmodified state, with the current configuration.
func (p *Policy) Pass(state resolver.State) {
	err := p.b.UpdateClientConnState(balancer.ClientConnState{ResolverState: state, BalancerConfig: p.config})
	if errors.Is(err, balancer.ErrBadResolverState) {
		p.env.Conn.ResolveNow(resolver.ResolveNowOptions{})
	}
}

// configure parses a configuration even if its text has not changed. A policy may modify the
// parsed value, as rls_experimental does, and would then see no change in it.
func (p *Policy) configure(raw string) error {
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
func (p *Policy) ExitIdle() { p.b.ExitIdle() }

// Close closes the policy, and shuts down the subchannels that it has left open.
func (p *Policy) Close() {
	p.closed = true
	p.b.Close()
	p.mu.Lock()
	left := slices.Collect(maps.Keys(p.subConns))
	p.mu.Unlock()
	for _, sc := range left {
		sc.Shutdown()
	}
}
