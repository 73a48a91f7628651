package policy

import (
	"slices"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A ringHash is the policy ring_hash. It sends calls with the same hash to the same endpoint while
// the endpoint is available (gRFC A42, A61, A76). It connects an endpoint for its first call.
type ringHash struct {
	env    *lbtree.Env
	report lbtree.Report
	header string
	ring   ring
	// members are the endpoints. The ring's entries have indexes into them.
	members []*member
	err     error // why the configuration is unusable
	batch   lbtree.Batch
}

// A member is an endpoint of the ring. The set of its addresses identifies it.
type member struct {
	addresses string
	endpoint  lbtree.Weighted
	policy    *leaf // pick_first; nil: never connected
	state     balancer.State
	connector *connector
}

func newRingHash(env *lbtree.Env, report lbtree.Report) *ringHash {
	p := &ringHash{env: env, report: report}
	p.batch.Report = p.publish
	return p
}

// Update makes a new ring of the endpoints of all localities, each with its share of all calls.
// Existing endpoints keep their connections.
func (p *ringHash) Update(t lbtree.Target) {
	var c ringConfig
	if c, p.err = parseRing(t.Policy.Config, p.env.State.RingSizeCap); p.err == nil {
		p.batch.Pause(func() { p.replace(c, lbtree.Flatten(t.Localities)) })
	}
	p.batch.Changed()
}

func (p *ringHash) replace(c ringConfig, endpoints []lbtree.Weighted) {
	last := make(map[string]*member, len(p.members))
	for _, m := range p.members {
		last[m.addresses] = m
	}
	p.header, p.members = c.Header, make([]*member, 0, len(endpoints))
	spots := make([]spot, 0, len(endpoints))
	for _, e := range endpoints {
		key := e.Key()
		m := last[key]
		delete(last, key)
		if m == nil {
			m = &member{addresses: key}
			p.setIdle(m)
		}
		m.endpoint = e
		if m.policy != nil {
			m.policy.pass(p.state(m))
		}
		p.members = append(p.members, m)
		spots = append(spots, spot{key: ringKey(&e), weight: e.Share})
	}
	for _, m := range last {
		m.disconnect()
	}
	p.ring = newRing(spots, c.MinSize, c.MaxSize)
}

// ringKey returns the key that places an endpoint on the ring (A76).
func ringKey(e *lbtree.Weighted) string {
	if e.HashKey != "" {
		return e.HashKey
	}
	return e.Addresses[0].Addr
}

// setIdle makes a member idle. Its connector connects it.
func (p *ringHash) setIdle(m *member) {
	m.connector = &connector{start: func() { p.env.Loop.Post(func() { p.connect(m) }) }}
	m.state = balancer.State{ConnectivityState: connectivity.Idle, Picker: lbtree.Queue{}}
}

// connect connects an idle member.
func (p *ringHash) connect(m *member) {
	switch {
	case !slices.Contains(p.members, m) || m.state.ConnectivityState != connectivity.Idle:
	case m.policy != nil:
		m.policy.ExitIdle()
	default:
		m.state = lbtree.Connecting()
		m.policy = newLeaf(p.env, balancer.Get(pickfirst.Name), func(s balancer.State) { p.reported(m, s) })
		m.policy.pass(p.state(m))
		p.batch.Changed()
	}
}

// state returns the resolver state for a member's pick_first. It makes the health of the connection
// count too (A61).
func (p *ringHash) state(m *member) resolver.State {
	return pickfirst.EnableHealthListener(resolver.State{
		Attributes: p.env.Attributes,
		Endpoints:  []resolver.Endpoint{m.endpoint.Endpoint.Endpoint},
	})
}

func (p *ringHash) reported(m *member, s balancer.State) {
	if s.ConnectivityState == connectivity.Idle {
		p.setIdle(m)
	} else {
		m.state = lbtree.Sticky(m.state, s)
	}
	p.batch.Changed()
}

// publish reports the combined state of the endpoints, or the error of an unusable configuration.
func (p *ringHash) publish() {
	if p.err != nil {
		p.report(lbtree.Failure(p.err))
		return
	}
	next := &ringPicker{ring: p.ring, header: p.header, endpoints: make([]ringEndpoint, 0, len(p.members)), hopeless: true}
	states := make([]connectivity.State, 0, len(p.members))
	for _, m := range p.members {
		s := m.state.ConnectivityState
		states = append(states, s)
		next.endpoints = append(next.endpoints, ringEndpoint{state: s, picker: m.state.Picker, connector: m.connector})
		next.hopeless = next.hopeless && s == connectivity.TransientFailure
	}
	sum := summarize(states)
	next.connecting = sum.connecting
	if sum.connect >= 0 {
		p.members[sum.connect].connector.request()
	}
	p.report(balancer.State{ConnectivityState: sum.state, Picker: next})
}

// ExitIdle connects one endpoint, if all are idle.
func (p *ringHash) ExitIdle() {
	for _, m := range p.members {
		if m.state.ConnectivityState != connectivity.Idle {
			return
		}
	}
	if len(p.members) > 0 {
		p.connect(p.members[0])
	}
}

// Close closes the connections of all endpoints.
func (p *ringHash) Close() {
	p.batch.Close()
	for _, m := range p.members {
		m.disconnect()
	}
	p.members = nil
}

func (m *member) disconnect() {
	if m.policy != nil {
		m.policy.Close()
	}
}

// A summary is the combined state of the endpoints of a ring.
type summary struct {
	state connectivity.State
	// connecting says that an endpoint is connecting.
	connecting bool
	// connect is the index of an endpoint to connect without a call, or -1. Without it, a ring that
	// gets no calls would not recover (A61).
	connect int
}

// summarize implements gRFC A42's rules.
func summarize(states []connectivity.State) summary {
	var counts [connectivity.Shutdown + 1]int
	s := summary{connect: -1}
	for i, state := range states {
		counts[state]++
		if state == connectivity.Idle && s.connect < 0 {
			s.connect = i
		}
	}
	s.connecting = counts[connectivity.Connecting] > 0
	failed := counts[connectivity.TransientFailure]
	switch {
	case counts[connectivity.Ready] > 0:
		s.state = connectivity.Ready
	case failed >= 2:
		s.state = connectivity.TransientFailure
	case s.connecting, failed == 1 && len(states) > 1:
		s.state = connectivity.Connecting
	case counts[connectivity.Idle] > 0:
		s.state = connectivity.Idle
	default:
		s.state = connectivity.TransientFailure
	}
	if s.connecting || s.state != connectivity.Connecting && s.state != connectivity.TransientFailure {
		s.connect = -1
	}
	return s
}
