package clustermanager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// list adds the tree to those of the channel, once.
func (m *manager) list() {
	if m.unlist == nil && m.env.State.Trees != nil {
		m.unlist = m.env.State.Trees.Add(m)
	}
}

// Describe implements [lbtree.Tree]. One task of the loop reads the states. The rest, which takes longer for many
// endpoints, is done afterwards.
func (m *manager) Describe(ctx context.Context) (string, []dataplane.Cluster, error) {
	var state connectivity.State
	var views []clusterView
	if err := m.env.Loop.Ask(ctx, func() {
		state = m.state()
		for _, e := range m.children {
			v := e.view()
			v.BelowPlugin = m.config.Cluster != ""
			views = append(views, v)
		}
	}); err != nil {
		return "", nil, err
	}
	clusters := make([]dataplane.Cluster, 0, len(views))
	for i := range views {
		clusters = append(clusters, views[i].complete())
	}
	slices.SortFunc(clusters, func(a, b dataplane.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return state.String(), clusters, nil
}

// A clusterView is a description of a cluster whose leaves have no endpoints yet.
type clusterView struct {
	dataplane.Cluster
	endpoints []endpointsView // of each leaf
}

// complete adds the endpoints.
func (v *clusterView) complete() dataplane.Cluster {
	for i := range v.endpoints {
		v.endpoints[i].addTo(&v.Leaves[i])
	}
	return v.Cluster
}

func (e *entry) view() clusterView {
	v := clusterView{Cluster: dataplane.Cluster{Name: e.name, State: e.state.ConnectivityState.String(), Created: e.child != nil}}
	v.Err = failureOf(e.state)
	if e.child != nil {
		e.child.describe(&v)
	}
	return v
}

// failureOf returns the error of a state that has no policy, or "".
func failureOf(s balancer.State) string {
	if f, ok := s.Picker.(lbtree.Fail); ok {
		return f.Err.Error()
	}
	return ""
}

func (t *targetCluster) describe(v *clusterView) {
	for _, s := range t.standings() {
		l := dataplane.Leaf{Name: s.name, State: s.state, InUse: s.inUse, Reason: s.reason}
		var e endpointsView
		if c := t.children[s.name]; c != nil {
			e = c.policy.describe(&l)
		}
		v.Leaves, v.endpoints = append(v.Leaves, l), append(v.endpoints, e)
	}
}

func (p *plugin) describe(v *clusterView) { v.Policy, v.Waiting = p.Describe() }

// describe sets all fields of a leaf but its endpoints, which the view has.
func (c *leafCluster) describe(l *dataplane.Leaf) endpointsView {
	if c.config.Err != nil {
		l.Err = c.config.Err.Error()
	}
	if c.config.Note != nil {
		l.Note = c.config.Note.Error()
	}
	u := c.config.Update
	if c.config.Err != nil || u == nil {
		return endpointsView{}
	}
	l.Service, l.LBPolicy, l.LBConfig, l.MaxCalls = serviceOf(c.name, u), u.LBPolicy.Name, u.LBPolicy.Config, u.MaxRequests
	l.Calls, l.Refused, l.Drops = c.breaker.InFlight(), c.counts.refused.Load(), c.counts.describe(c.config.Drops)
	if c.circuit != nil {
		for _, r := range []breaker.Resource{breaker.Connections, breaker.Pending, breaker.Retries} {
			limit := dataplane.Limit{Name: r.String()}
			limit.Used, limit.Max, limit.Refused = c.circuit.Use(r)
			l.Limits = append(l.Limits, limit)
		}
	}
	all := c.priorities.standings()
	e := endpointsView{localities: byPriority(c.config.Localities), ejected: c.outlier.Ejected()}
	for i, s := range all {
		p := dataplane.Priority{Number: e.localities[i][0].Priority, State: s.state, InUse: s.inUse, Reason: s.reason}
		if child := c.priorities.children[s.name]; child != nil {
			p.Policy, p.Waiting = child.policy.Describe()
		}
		l.Priorities = append(l.Priorities, p)
	}
	e.addresses = c.conn.view()
	return e
}

// An addressView describes an address.
type addressView struct {
	account   *account // nil: the cluster does not have the address
	connected bool     // there is a subchannel
	best      balancer.SubConnState
}

// view returns the addresses, with the best state of the subchannels of each.
func (c *clusterConn) view() map[string]addressView {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]addressView, len(c.addresses))
	for addr, a := range c.addresses {
		v := addressView{account: a.account}
		for s := a.subConns; s != nil; s = s.next {
			v.best, v.connected = better(v.best, v.connected, s.state), true
		}
		out[addr] = v
	}
	return out
}

// rank orders connectivity states, the best first.
var rank = [...]int{connectivity.Ready: 0, connectivity.Connecting: 1, connectivity.Idle: 2, connectivity.TransientFailure: 3, connectivity.Shutdown: 4}

// better returns the better of two states, of which the first may not exist.
func better(a balancer.SubConnState, ok bool, b balancer.SubConnState) balancer.SubConnState {
	if ok && rank[a.ConnectivityState] <= rank[b.ConnectivityState] {
		return a
	}
	return b
}

// An endpointsView has the endpoints of a leaf, by priority. Nothing in it changes, but the counters of accounts.
type endpointsView struct {
	localities [][]*endpoint.Locality
	addresses  map[string]addressView
	ejected    []string // the keys of endpoints
}

// addTo adds the endpoints to the priorities of a leaf.
func (v *endpointsView) addTo(l *dataplane.Leaf) {
	ejected := make(map[string]bool, len(v.ejected))
	for _, key := range v.ejected {
		ejected[key] = true
	}
	for i, localities := range v.localities {
		for _, from := range localities {
			to := dataplane.Locality{Region: from.ID.Region, Zone: from.ID.Zone, SubZone: from.ID.SubZone, Weight: from.Weight}
			to.Endpoints = make([]dataplane.Endpoint, 0, len(from.Endpoints))
			for j := range from.Endpoints {
				to.Endpoints = append(to.Endpoints, v.endpoint(&from.Endpoints[j], ejected))
			}
			l.Priorities[i].Localities = append(l.Priorities[i].Localities, to)
		}
	}
}

func (v *endpointsView) endpoint(e *endpoint.Endpoint, ejected map[string]bool) dataplane.Endpoint {
	d := dataplane.Endpoint{Addresses: slices.Collect(e.Addresses()), Hostname: e.Hostname(), Weight: e.Weight, Health: e.Health.String()}
	var best balancer.SubConnState
	found := false
	for _, addr := range d.Addresses {
		if a := v.addresses[addr]; a.connected {
			best, found = better(best, found, a.best), true
		}
	}
	if found {
		d.State = best.ConnectivityState.String()
		if best.ConnectionError != nil {
			d.Err = best.ConnectionError.Error()
		}
	}
	if usable(e.Health) {
		d.Ejected = ejected[lbtree.KeyOf(d.Addresses)]
	}
	if len(d.Addresses) > 0 {
		if a := v.addresses[d.Addresses[0]].account; a != nil {
			d.Calls = a.calls.Load()
		}
	}
	return d
}

// A standing is the place of a child among its siblings.
type standing struct {
	name, state string
	inUse       bool
	reason      string
}

// standings describes the children in order of preference.
func (p *priorities[C]) standings() []standing {
	if len(p.order) == 0 {
		return nil
	}
	used := choose(p.states()).use
	out := make([]standing, 0, len(p.order))
	for i, name := range p.order {
		s := standing{name: name, inUse: i == used}
		c := p.children[name]
		if c != nil {
			s.state = c.state.ConnectivityState.String()
		}
		if !s.inUse {
			s.reason = c.unused(i < used)
		}
		out = append(out, s)
	}
	return out
}

// unused says why a child is not in use. preferred says that it comes before the one in use.
func (c *priorityChild[C]) unused(preferred bool) string {
	switch {
	case c == nil:
		return "not needed; a better one is in use"
	case c.expiry.Pending():
		return fmt.Sprintf("no longer needed; it is kept for %v after a better one became usable", retention)
	case !preferred:
		return "a better one is in use"
	case c.state.ConnectivityState == connectivity.Connecting && !c.failedLast:
		return fmt.Sprintf("not connected after %v", failover)
	case failureOf(c.state) != "":
		return "failed: " + failureOf(c.state)
	}
	return "failed; its endpoints have the errors"
}

// dropCounts counts the calls that a leaf ends. The counters of drops have the order of the configuration.
type dropCounts struct {
	refused    atomic.Uint64
	categories map[string]*atomic.Uint64
	drops      []*atomic.Uint64
}

// keep replaces the drops. A category that stays keeps its counter.
func (d *dropCounts) keep(drops []endpoint.Drop) {
	last := d.categories
	d.categories, d.drops = make(map[string]*atomic.Uint64, len(drops)), make([]*atomic.Uint64, 0, len(drops))
	for i := range drops {
		name := drops[i].Category
		n := cmp.Or(d.categories[name], last[name], new(atomic.Uint64))
		d.categories[name] = n
		d.drops = append(d.drops, n)
	}
}

// describe describes the drops that keep got last.
func (d *dropCounts) describe(drops []endpoint.Drop) []dataplane.Drop {
	out := make([]dataplane.Drop, 0, len(drops))
	for i := range drops {
		out = append(out, dataplane.Drop{Category: drops[i].Category, PerMillion: drops[i].PerMillion, Dropped: d.drops[i].Load()})
	}
	return out
}
