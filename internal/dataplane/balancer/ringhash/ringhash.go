package ringhash

import (
	"slices"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/hosted"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
)

// A Policy is the policy. It connects an endpoint for its first call.
type Policy struct {
	env    *node.Env
	report node.Report
	header string
	ring   ring
	// members are the endpoints. The ring's entries have indexes into them.
	members []*member
	err     error // why the configuration is unusable
	busy    bool
}

// A member is an endpoint of the ring. The set of its addresses identifies it.
type member struct {
	addresses string
	endpoint  node.Weighted
	policy    *hosted.Policy // pick_first; nil: never connected
	state     balancer.State
	waker     *waker
}

// New returns a policy without endpoints.
func New(env *node.Env, report node.Report) *Policy {
	return &Policy{env: env, report: report}
}

// Update makes a new ring of the endpoints of all localities, each with its share of all calls.
// Existing endpoints keep their connections.
func (p *Policy) Update(t node.Target) {
	var c config
	if c, p.err = parse(t.Policy.Config, p.env.RingSizeCap); p.err != nil {
		p.settle()
		return
	}
	last := make(map[string]*member, len(p.members))
	for _, m := range p.members {
		last[m.addresses] = m
	}
	p.busy = true
	endpoints := node.Flatten(t.Localities)
	p.header, p.members = c.Header, make([]*member, 0, len(endpoints))
	spots := make([]spot, 0, len(endpoints))
	for _, e := range endpoints {
		key := e.Key()
		m := last[key]
		delete(last, key)
		if m == nil {
			m = &member{addresses: key}
			p.sleep(m)
		}
		m.endpoint = e
		if m.policy != nil {
			m.policy.Pass(p.state(m))
		}
		p.members = append(p.members, m)
		spots = append(spots, spot{key: placeOf(&e), weight: e.Share})
	}
	for _, m := range last {
		m.close()
	}
	p.ring = newRing(spots, c.MinSize, c.MaxSize)
	p.busy = false
	p.settle()
}

// placeOf returns the key that places an endpoint on the ring (A76).
func placeOf(e *node.Weighted) string {
	if e.HashKey != "" {
		return e.HashKey
	}
	return e.Addresses[0].Addr
}

// sleep makes a member idle. Its waker connects it.
func (p *Policy) sleep(m *member) {
	m.waker = &waker{wake: func() { p.env.Loop.Post(func() { p.wake(m) }) }}
	m.state = balancer.State{ConnectivityState: connectivity.Idle, Picker: node.Queue{}}
}

// wake connects an idle member.
func (p *Policy) wake(m *member) {
	switch {
	case !slices.Contains(p.members, m) || m.state.ConnectivityState != connectivity.Idle:
	case m.policy != nil:
		m.policy.ExitIdle()
	default:
		m.state = node.Connecting()
		m.policy = hosted.New(p.env, balancer.Get(pickfirst.Name), func(s balancer.State) { p.reported(m, s) })
		m.policy.Pass(p.state(m))
		p.settle()
	}
}

// state returns the resolver state for a member's pick_first. It makes the health of the connection
// count too (A61).
func (p *Policy) state(m *member) resolver.State {
	return pickfirst.EnableHealthListener(resolver.State{
		Attributes: p.env.Attributes,
		Endpoints:  []resolver.Endpoint{m.endpoint.Endpoint.Endpoint},
	})
}

func (p *Policy) reported(m *member, s balancer.State) {
	if s.ConnectivityState == connectivity.Idle {
		p.sleep(m)
	} else {
		m.state = node.Sticky(m.state, s)
	}
	p.settle()
}

// settle reports the combined state of the endpoints, or the error of an unusable configuration.
func (p *Policy) settle() {
	switch {
	case p.busy:
		return
	case p.err != nil:
		p.report(node.Failure(p.err))
		return
	}
	next := &picker{ring: p.ring, header: p.header, endpoints: make([]snapshot, 0, len(p.members)), hopeless: true}
	states := make([]connectivity.State, 0, len(p.members))
	for _, m := range p.members {
		s := m.state.ConnectivityState
		states = append(states, s)
		next.endpoints = append(next.endpoints, snapshot{state: s, picker: m.state.Picker, wake: m.waker})
		next.hopeless = next.hopeless && s == connectivity.TransientFailure
	}
	sum := summarize(states)
	next.connecting = sum.connecting
	if sum.wake >= 0 {
		p.members[sum.wake].waker.ask()
	}
	p.report(balancer.State{ConnectivityState: sum.state, Picker: next})
}

// ExitIdle connects one endpoint, if all are idle.
func (p *Policy) ExitIdle() {
	for _, m := range p.members {
		if m.state.ConnectivityState != connectivity.Idle {
			return
		}
	}
	if len(p.members) > 0 {
		p.wake(p.members[0])
	}
}

// Close closes the connections of all endpoints.
func (p *Policy) Close() {
	p.busy = true
	for _, m := range p.members {
		m.close()
	}
	p.members = nil
}

func (m *member) close() {
	if m.policy != nil {
		m.policy.Close()
	}
}
