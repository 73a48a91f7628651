package clustermanager

import (
	"strings"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// sessions bind calls to the endpoints of their sessions (A55, A61, A75). They are empty until the first such call, so
// that other clusters do not pay for them. The mutex of the clusterConn guards them.
//
// A session uses the subchannels of the LB policy. If the policy has none for an endpoint, the sessions own one: the
// endpoint is draining, or in a priority that is not in use. They also take over a subchannel that the policy shuts down,
// if a session has used it within the idle timeout.
type sessions struct {
	hosts map[string]*host // by address; nil: there was no call
	idle  time.Duration    // the idle timeout
	// waiting says that calls wait for a change of a subchannel.
	waiting bool
	// The functions below post to the loop.
	start   func()            // after the first call
	connect func(addr string) // an address without a subchannel
	kept    func(sc *subConn) // a subchannel was taken over
	changed func()            // calls wait, and a subchannel has changed
}

// A host is an address that sessions may name.
type host struct {
	address resolver.Address
	// list has all addresses of the endpoint, this one first, separated by commas.
	list string
	// allowed says that the endpoint's health status lets sessions stay on it.
	allowed bool
	used    time.Time // the last call of a session
	owned   *subConn  // the subchannel of the sessions, or nil
}

// pickFor picks for a call of a session.
func (c *clusterConn) pickFor(a *lbtree.Affinity, info balancer.PickInfo, child balancer.Picker) (balancer.PickResult, error) {
	if sc, wait := c.find(a); wait {
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
	} else if sc != nil {
		return balancer.PickResult{SubConn: sc}, nil
	}
	r, err := child.Pick(info)
	if sc, ok := r.SubConn.(*subConn); ok && err == nil {
		c.mu.Lock()
		c.use(a, c.sessions.hosts[sc.address])
		c.mu.Unlock()
	}
	return r, err
}

// use records that a call of a session uses a host, or nil. The caller holds mu.
func (*clusterConn) use(a *lbtree.Affinity, h *host) {
	if h != nil {
		h.used = time.Now()
		a.Use(&h.list)
	}
}

// find returns a ready subchannel to the endpoint of a session, or nil. wait says that there may soon be one. A session leaves an
// endpoint that outlier detection ejects, because Envoy considers it unhealthy then.
func (c *clusterConn) find(a *lbtree.Affinity) (sc *subConn, wait bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.sessions
	if s.hosts == nil {
		s.start()
		return nil, true
	}
	var idle *subConn
	var absent string
	connecting := false
	for _, addr := range a.Addresses {
		h := s.hosts[addr]
		if h == nil || !h.allowed {
			continue
		}
		best := c.addresses[addr].best()
		switch {
		case best == nil:
			if absent == "" {
				absent = addr
			}
		case best.outlier:
		case best.now == connectivity.Ready:
			c.use(a, h)
			return best, false
		case best.now == connectivity.Idle:
			if idle == nil {
				idle = best
			}
		case best.now == connectivity.Connecting:
			connecting = true
		}
	}
	switch {
	case idle != nil:
		c.loop.Post(idle.Connect)
	case connecting:
	case absent != "":
		s.connect(absent)
	default:
		return nil, false
	}
	s.waiting = true
	return nil, true
}

// best returns the subchannel with the most useful state, or nil. The caller holds mu.
func (a *address) best() *subConn {
	if a == nil {
		return nil
	}
	var best *subConn
	for s := a.subConns; s != nil; s = s.next {
		if best == nil || rank[s.now] < rank[best.now] {
			best = s
		}
	}
	return best
}

// keep takes over a subchannel that its policy shuts down, if a session has used it lately (A75).
func (c *clusterConn) keep(sc *subConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sc.owned { // policies may shut a subchannel down twice
		return true
	}
	h := c.sessions.hosts[sc.address]
	if h == nil || !h.allowed || h.owned != nil || time.Since(h.used) >= c.sessions.idle {
		return false
	}
	h.owned, sc.owned = sc, true
	c.sessions.kept(sc)
	return true
}

// observe records the state of a subchannel. If the policy's subchannel is ready, it replaces that of the sessions,
// which observe returns.
func (c *clusterConn) observe(sc *subConn, state connectivity.State) (replaced *subConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sc.now = state
	if c.sessions.waiting {
		c.sessions.waiting = false
		c.sessions.changed()
	}
	h := c.sessions.hosts[sc.address]
	switch {
	case h == nil || h.owned == nil:
	case h.owned == sc:
		if state == connectivity.Shutdown {
			h.owned = nil
		}
	case state == connectivity.Ready:
		replaced, h.owned = h.owned, nil
	}
	return replaced
}

// bindSessions connects the sessions of the cluster to its loop.
func (c *leafCluster) bindSessions() {
	post := c.env.Loop.Post
	c.conn.sessions.start = func() { post(c.startSessions) }
	c.conn.sessions.connect = func(addr string) { post(func() { c.connectHost(addr) }) }
	c.conn.sessions.kept = func(sc *subConn) {
		post(func() {
			sc.disown()
			c.scheduleSweep()
		})
	}
	c.conn.sessions.changed = func() { post(c.batch.Changed) }
}

// startSessions begins to bind calls, after the first one of a session.
func (c *leafCluster) startSessions() {
	if c.hasSessions {
		return
	}
	c.hasSessions = true
	c.updateHosts()
	c.batch.Changed()
}

// updateHosts replaces the hosts by those of the newest configuration. Without a usable configuration, there are none.
func (c *leafCluster) updateHosts() {
	if !c.hasSessions {
		return
	}
	next := make(map[string]*host)
	u := c.config.Update
	if u != nil && c.config.Err == nil {
		for i := range c.config.Localities {
			addHosts(next, c.config.Localities[i].Endpoints, u.OverrideHosts)
		}
		for l := range all(c.grouped) {
			for i := range l.Endpoints {
				nameHosts(next, l.Endpoints[i].Addresses)
			}
		}
		c.setIdle(u.IdleTimeout)
	}
	c.replaceHosts(next)
}

// addHosts adds the hosts of the endpoints that calls or sessions may use. nameHosts completes them.
func addHosts(hosts map[string]*host, endpoints []endpoint.Endpoint, statuses cluster.HostStatuses) {
	for i := range endpoints {
		e := &endpoints[i]
		allowed := mayKeep(statuses, e.Health)
		if !allowed && !usable(e.Health) {
			continue
		}
		for addr := range e.Addresses() {
			hosts[addr] = &host{allowed: allowed}
		}
	}
}

// setIdle sets the idle timeout.
func (c *leafCluster) setIdle(idle time.Duration) {
	c.conn.mu.Lock()
	changed := c.conn.sessions.idle != idle
	c.conn.sessions.idle = idle
	c.conn.mu.Unlock()
	if changed && c.sweep.Pending() {
		c.sweep.Stop()
		c.scheduleSweep()
	}
}

// mayKeep reports whether a health status lets sessions stay on an endpoint (A55).
func mayKeep(s cluster.HostStatuses, h endpoint.Health) bool {
	switch h {
	case endpoint.HealthUnknown:
		return s.Unknown
	case endpoint.HealthHealthy:
		return s.Healthy
	case endpoint.HealthDraining:
		return s.Draining
	default:
		return false
	}
}

// nameHosts completes the hosts of an endpoint.
func nameHosts(hosts map[string]*host, addresses []resolver.Address) {
	for i, addr := range addresses {
		h := hosts[addr.Addr]
		if h == nil {
			continue
		}
		list := make([]string, 1, len(addresses))
		list[0] = addr.Addr
		for j, other := range addresses {
			if j != i {
				list = append(list, other.Addr)
			}
		}
		h.address, h.list = addr, strings.Join(list, ",")
	}
}

// replaceHosts replaces the hosts. Those that stay keep their subchannel, unless they may not keep it any more.
func (c *leafCluster) replaceHosts(next map[string]*host) {
	var ended []*subConn
	c.conn.mu.Lock()
	for addr, last := range c.conn.sessions.hosts {
		h := next[addr]
		if h != nil {
			h.used = last.used
		}
		switch {
		case last.owned == nil:
		case h != nil && h.allowed && h.address.Equal(last.address):
			h.owned = last.owned
		default:
			ended = append(ended, last.owned)
		}
	}
	c.conn.sessions.hosts = next
	c.conn.mu.Unlock()
	for _, sc := range ended {
		sc.end()
	}
}

// connectHost creates a subchannel to an address that sessions name, if there is none.
func (c *leafCluster) connectHost(addr string) {
	c.conn.mu.Lock()
	h := c.conn.sessions.hosts[addr]
	needed := h != nil && h.allowed && c.conn.addresses[addr].best() == nil
	c.conn.mu.Unlock()
	if !needed {
		c.batch.Changed() // for the calls that wait
		return
	}
	sc, err := c.conn.NewSubConn([]resolver.Address{h.address}, balancer.NewSubConnOptions{})
	own, ok := sc.(*subConn)
	if err != nil || !ok {
		return // the channel closes
	}
	c.conn.mu.Lock()
	h.used, h.owned, own.owned = time.Now(), own, true
	c.conn.mu.Unlock()
	own.Connect()
	c.scheduleSweep()
}

// minSweep is the least time between two sweeps (A75).
const minSweep = 5 * time.Second

// scheduleSweep sets the timer for the next sweep, unless it is set.
func (c *leafCluster) scheduleSweep() {
	if !c.sweep.Pending() {
		c.sweep.Set(c.env.Loop, max(c.conn.sessions.idle, minSweep), c.sweepHosts)
	}
}

// sweepHosts ends the subchannels of sessions whose last call was before the idle timeout. It sets the timer for the next
// sweep, if others remain.
func (c *leafCluster) sweepHosts() {
	var ended []*subConn
	oldest := time.Duration(-1)
	now := time.Now()
	c.conn.mu.Lock()
	idle := c.conn.sessions.idle
	for _, h := range c.conn.sessions.hosts {
		switch unused := now.Sub(h.used); {
		case h.owned == nil:
		case unused >= idle:
			ended, h.owned = append(ended, h.owned), nil
		default:
			oldest = max(oldest, unused)
		}
	}
	c.conn.mu.Unlock()
	for _, sc := range ended {
		sc.end()
	}
	if oldest >= 0 {
		c.sweep.Set(c.env.Loop, max(idle-oldest, minSweep), c.sweepHosts)
	}
}

// endSessions ends the subchannels of the sessions.
func (c *leafCluster) endSessions() {
	c.sweep.Stop()
	c.hasSessions = true // no later call starts them
	c.replaceHosts(map[string]*host{})
}
