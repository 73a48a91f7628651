package policy

import (
	"math/rand/v2"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A ringHash is the policy ring_hash. It sends calls with the same hash to the same endpoint while
// the endpoint is available (gRFC A42, A61, A76). It connects an endpoint for its first call. A
// change of the state of one endpoint costs the same for any number of endpoints.
type ringHash struct {
	env    *lbtree.Env
	report lbtree.Report
	config ringConfig
	ring   ring
	order  []int // the members, sorted by ring key
	// targets are the endpoints of the target, and members those of the policy, in the same order. The ring's entries
	// have indexes into them.
	targets []*lbtree.Endpoint
	members []*member
	// shown has the states of members, for pickers. It is immutable, the states are not.
	shown  []*ringEndpoint
	counts stateCounts     // of the members
	random func(n int) int // returns a number below n; tests replace it
	err    error           // why the configuration is unusable
	batch  lbtree.Batch
}

// A member is an endpoint of the ring. The set of its addresses identifies it.
type member struct {
	addresses string
	at        int // its index in members
	endpoint  *lbtree.Endpoint
	share     uint32 // of all calls, as in lbtree.Weighted
	policy    *leaf  // pick_first; nil: never connected
	state     balancer.State
	connector *connector
	shown     ringEndpoint
}

// key implements [keyed].
func (m *member) key() string { return m.addresses }

func newRingHash(env *lbtree.Env, report lbtree.Report) *ringHash {
	p := &ringHash{env: env, report: report, random: rand.IntN}
	p.batch.Report = p.publish
	return p
}

// Update makes a new ring of the endpoints of all localities, each with its share of all calls.
// Existing endpoints keep their connections.
func (p *ringHash) Update(t lbtree.Target) {
	var c ringConfig
	if c, p.err = parseRing(t.Policy.Config, p.env.State.RingSizeCap); p.err == nil {
		p.batch.Pause(func() { p.replace(c, t.Localities) })
	}
	p.batch.Changed()
}

// replace makes the members those of the endpoints. It keeps the ring if it would be the same.
func (p *ringHash) replace(c ringConfig, localities []lbtree.Locality) {
	targets, shares := lbtree.List(localities), lbtree.Shares(localities)
	same := c.MinSize == p.config.MinSize && c.MaxSize == p.config.MaxSize && len(targets) == len(p.members)
	matched := match(p.members, p.targets, targets)
	shown := make([]*ringEndpoint, len(targets))
	p.config, p.counts = c, stateCounts{}
	for i, e := range targets {
		m := matched.endpoints[i]
		same = same && m != nil && m.at == i && m.share == shares[i] && (m.endpoint == e || ringKey(m.endpoint) == ringKey(e))
		if m == nil {
			m = &member{addresses: e.Key(), endpoint: e}
			matched.endpoints[i] = m
			p.setIdle(m)
		}
		m.at, m.share, shown[i] = i, shares[i], &m.shown
		p.counts[m.state.ConnectivityState]++
		changed := p.env.Attributes != nil || m.endpoint != e && !sameAddresses(m.endpoint.Addresses, e.Addresses)
		if m.endpoint = e; m.policy != nil && changed {
			m.policy.pass(p.state(m))
		}
	}
	for _, m := range matched.gone {
		m.at = -1
		m.disconnect()
	}
	p.targets, p.members, p.shown = targets, matched.endpoints, shown
	if !same {
		p.place()
	}
}

// place makes the ring of the members.
func (p *ringHash) place() {
	spots := make([]spot, len(p.members))
	for i, m := range p.members {
		spots[i] = spot{key: ringKey(m.endpoint), weight: m.share}
	}
	p.order = sorted(spots, p.order)
	p.ring = newRing(spots, p.order, p.config.MinSize, p.config.MaxSize)
}

// ringKey returns the key that places an endpoint on the ring (A76).
func ringKey(e *lbtree.Endpoint) string {
	if e.HashKey != "" {
		return e.HashKey
	}
	return e.Address()
}

// setIdle makes a member idle. Its connector connects it. The caller counts the state.
func (p *ringHash) setIdle(m *member) {
	m.connector = &connector{start: func() { p.env.Loop.Post(func() { p.connect(m) }) }}
	m.set(balancer.State{ConnectivityState: connectivity.Idle, Picker: lbtree.Queue{}})
}

// set sets the state of a member, and shows it to all pickers.
func (m *member) set(s balancer.State) {
	m.state = s
	m.shown.now.Store(&ringState{state: s.ConnectivityState, picker: s.Picker, connector: m.connector})
}

// connect connects an idle member.
func (p *ringHash) connect(m *member) {
	switch {
	case !p.has(m) || m.state.ConnectivityState != connectivity.Idle:
	case m.policy != nil:
		m.policy.ExitIdle()
	default:
		p.change(m, lbtree.Connecting())
		m.policy = newLeaf(p.env, balancer.Get(pickfirst.Name), func(s balancer.State) { p.reported(m, s) })
		m.policy.pass(p.state(m))
		p.batch.Changed()
	}
}

// has reports whether a member was not removed.
func (p *ringHash) has(m *member) bool {
	return m.at >= 0 && m.at < len(p.members) && p.members[m.at] == m
}

// change changes the state of a member.
func (p *ringHash) change(m *member, s balancer.State) {
	p.counts[m.state.ConnectivityState]--
	if s.ConnectivityState == connectivity.Idle {
		p.setIdle(m)
	} else {
		m.set(s)
	}
	p.counts[m.state.ConnectivityState]++
}

// state returns the resolver state for a member's pick_first. It makes the health of the connection
// count too (A61).
func (p *ringHash) state(m *member) resolver.State {
	return pickfirst.EnableHealthListener(resolver.State{
		Attributes: p.env.Attributes,
		Endpoints:  []resolver.Endpoint{m.endpoint.Endpoint},
	})
}

func (p *ringHash) reported(m *member, s balancer.State) {
	p.change(m, lbtree.Sticky(m.state, s))
	p.batch.Changed()
}

// publish reports the combined state of the endpoints, or the error of an unusable configuration.
// Pickers read the newest states of the endpoints. After each change there is a new picker
// nevertheless, so that gRPC picks again for the calls that wait.
func (p *ringHash) publish() {
	if p.err != nil {
		p.report(lbtree.Failure(p.err))
		return
	}
	sum := p.counts.summarize()
	if sum.connect {
		p.anyIdle().connector.request()
	}
	p.report(balancer.State{ConnectivityState: sum.state, Picker: &ringPicker{
		ring: p.ring, header: p.config.Header, endpoints: p.shown, connecting: sum.connecting,
		hopeless: p.counts[connectivity.TransientFailure] == len(p.members),
	}})
}

// anyIdle returns an idle member. There must be one. It is the first after a random one, so that clients with
// the same ring do not all connect to the same endpoint (A117). Each search starts a connection, so the searches
// of a time in which all endpoints fail take O(n log n) steps together.
func (p *ringHash) anyIdle() *member {
	at := p.random(len(p.members))
	for p.members[at].state.ConnectivityState != connectivity.Idle {
		at = (at + 1) % len(p.members)
	}
	return p.members[at]
}

// ExitIdle connects one endpoint, if all are idle (A117).
func (p *ringHash) ExitIdle() {
	if n := len(p.members); n > 0 && p.counts[connectivity.Idle] == n {
		p.connect(p.anyIdle())
	}
}

// Close closes the connections of all endpoints.
func (p *ringHash) Close() {
	p.batch.Close()
	for _, m := range p.members {
		m.disconnect()
	}
	p.targets, p.members = nil, nil
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
	// connect says that an idle endpoint must connect without a call. Without it, a ring
	// that gets no calls would not recover (A61).
	connect bool
}

// stateCounts are the numbers of endpoints in each state.
type stateCounts [connectivity.Shutdown + 1]int

// summarize implements gRFC A42's rules.
func (c *stateCounts) summarize() summary {
	idle, failed, ready := c[connectivity.Idle], c[connectivity.TransientFailure], c[connectivity.Ready]
	s := summary{connecting: c[connectivity.Connecting] > 0}
	switch several := idle+failed+ready+c[connectivity.Connecting] > 1; {
	case ready > 0:
		s.state = connectivity.Ready
	case failed >= 2:
		s.state = connectivity.TransientFailure
	case s.connecting, failed == 1 && several:
		s.state = connectivity.Connecting
	case idle > 0:
		s.state = connectivity.Idle
	default:
		s.state = connectivity.TransientFailure
	}
	unusable := s.state == connectivity.Connecting || s.state == connectivity.TransientFailure
	s.connect = unusable && !s.connecting && idle > 0
	return s
}
