package policy

import (
	"math/rand/v2"
	"slices"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A roundRobin is the policy round_robin. It sends calls to the ready endpoints in turn. A pick_first
// for each endpoint connects to one of its addresses (A61). An update concerns only the endpoints
// that it changes. A change of the state of one endpoint costs the same for any number of endpoints.
type roundRobin struct {
	env       *lbtree.Env
	report    lbtree.Report
	targets   []*lbtree.Endpoint // the endpoints of the target
	endpoints []*rrEndpoint      // in the same order
	tally     lbtree.Tally
	ready     *rotation
	failed    *rrEndpoint // the endpoint that has failed last, if it was not removed
	batch     lbtree.Batch

	// changed and removed, if not nil, get endpoints whose state has changed, and those that are closed.
	changed, removed func(*rrEndpoint)
}

// An rrEndpoint is an endpoint of a roundRobin. The set of its addresses identifies it.
type rrEndpoint struct {
	set    string
	target *lbtree.Endpoint
	policy *leaf // pick_first
	state  balancer.State
	slot   int           // the index in the rotation, if the state is READY
	load   *endpointLoad // of weighted_round_robin; nil: never connected
}

// key implements [keyed].
func (e *rrEndpoint) key() string { return e.set }

func newRoundRobin(env *lbtree.Env, report lbtree.Report) *roundRobin {
	p := &roundRobin{env: env, report: report, ready: newRotation(0, rand.Uint64())}
	p.batch.Report = p.publish
	return p
}

// newRandom returns the policy random of Envoy: a roundRobin that picks a ready endpoint at random.
func newRandom(env *lbtree.Env, report lbtree.Report) *roundRobin {
	p := newRoundRobin(env, report)
	p.ready.random = true
	return p
}

// Update replaces the endpoints. Unchanged endpoints keep their connections.
func (p *roundRobin) Update(t lbtree.Target) {
	p.batch.Update(func() { p.replace(t.Localities) })
}

func (p *roundRobin) replace(localities []lbtree.Locality) {
	targets := lbtree.List(localities)
	m := match(p.endpoints, p.targets, targets)
	for _, e := range m.gone {
		p.remove(e)
	}
	p.targets, p.endpoints, p.ready = targets, m.endpoints, p.ready.resized(len(targets))
	if p.env.Attributes != nil { // they may have changed
		m.changed = indexes(len(targets))
	}
	var added []*rrEndpoint
	for _, i := range m.changed {
		e, to := p.endpoints[i], targets[i]
		if e == nil {
			e = &rrEndpoint{set: to.Key(), target: to, state: lbtree.Connecting()}
			p.endpoints[i], added = e, append(added, e)
			p.tally.Add(connectivity.Connecting)
			continue
		}
		changed := p.env.Attributes != nil || !sameAddresses(e.target.Addresses, to.Addresses)
		if e.target = to; changed {
			e.policy.pass(p.resolverState(e))
		}
	}
	p.connect(added)
}

// sameAddresses reports whether two endpoints have equal addresses in the same order.
func sameAddresses(a, b []resolver.Address) bool {
	return slices.EqualFunc(a, b, resolver.Address.Equal)
}

// connect connects new endpoints. It starts at a random one, so that the clients of a small set of
// servers do not all connect to the same one first.
func (p *roundRobin) connect(added []*rrEndpoint) {
	if len(added) == 0 {
		return
	}
	builder := balancer.Get(pickfirst.Name)
	first := rand.IntN(len(added))
	for _, e := range slices.Concat(added[first:], added[:first]) {
		e.policy = newLeaf(p.env, builder, func(s balancer.State) { p.reported(e, s) })
		e.policy.pass(p.resolverState(e))
	}
}

// resolverState returns the resolver state for the pick_first of an endpoint. It makes the health of the
// connection count too (A61).
func (p *roundRobin) resolverState(e *rrEndpoint) resolver.State {
	return pickfirst.EnableHealthListener(resolver.State{Attributes: p.env.Attributes, Endpoints: []resolver.Endpoint{e.target.Endpoint}})
}

// remove closes an endpoint.
func (p *roundRobin) remove(e *rrEndpoint) {
	p.set(e, lbtree.Connecting())
	p.tally.Remove(connectivity.Connecting)
	p.end(e)
}

func (p *roundRobin) end(e *rrEndpoint) {
	if p.removed != nil {
		p.removed(e)
	}
	e.policy.Close()
}

// set sets the state of an endpoint.
func (p *roundRobin) set(e *rrEndpoint, next balancer.State) {
	last := e.state.ConnectivityState
	p.tally.Remove(last)
	p.tally.Add(next.ConnectivityState)
	e.state = next
	if last == connectivity.Ready {
		p.ready.remove(e)
	}
	switch {
	case next.ConnectivityState == connectivity.Ready:
		p.ready.add(e)
	case next.ConnectivityState == connectivity.TransientFailure:
		p.failed = e
	case p.failed == e:
		p.failed = nil
	}
	if p.changed != nil {
		p.changed(e)
	}
}

// reported handles a state of an endpoint. pick_first itself reports failures as sticky (A62). An idle
// endpoint connects again.
func (p *roundRobin) reported(e *rrEndpoint, next balancer.State) {
	last := e.state.ConnectivityState
	p.set(e, next)
	switch next.ConnectivityState {
	case connectivity.Idle:
		e.policy.ExitIdle()
	case connectivity.Connecting:
		if last == connectivity.Connecting {
			return
		}
	default:
	}
	p.batch.Changed()
}

// publish reports the combined state of the endpoints. The picker of ready endpoints is always the
// same. It is reported after each change nevertheless, so that gRPC picks again for the calls that
// wait.
func (p *roundRobin) publish() {
	s := balancer.State{ConnectivityState: p.tally.State(), Picker: lbtree.Queue{}}
	switch s.ConnectivityState {
	case connectivity.Ready:
		s.Picker = p.ready
	case connectivity.TransientFailure:
		s.Picker = p.failure()
	default:
	}
	p.report(s)
}

// failure returns the picker of the endpoint that has failed last, if all have failed.
func (p *roundRobin) failure() balancer.Picker {
	switch {
	case len(p.endpoints) == 0:
		return lbtree.Fail{Err: ErrNoEndpoints}
	case p.failed == nil: // it was removed
		p.failed = p.endpoints[0]
	}
	return p.failed.state.Picker
}

// ExitIdle does nothing, because idle endpoints connect without it.
func (p *roundRobin) ExitIdle() {}

// Close closes all endpoints.
func (p *roundRobin) Close() {
	p.batch.Close()
	for _, e := range p.endpoints {
		p.end(e)
	}
}
