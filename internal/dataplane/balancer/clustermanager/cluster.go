package clustermanager

import (
	"errors"
	"slices"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/policy"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A leafCluster is a cluster that is not an aggregate. It applies the settings of the cluster to its
// calls, whichever endpoint they go to. It drops calls (gRFC A27), breaks the circuit (A32), and
// counts calls for load reports (A47, A64, A85). It ejects outliers (A50), above all priorities as
// in A75, and sets the endpoint's authority (A81). Below it are the cluster's priorities.
type leafCluster struct {
	tree   *lbtree.Env
	env    *lbtree.Env // for the policies of the cluster
	name   string
	report lbtree.Report

	conn       *clusterConn
	tls        *security.Cluster // nil: only the channel's credentials
	priorities *priorities[*policy.Switch]
	names      priorityNames[endpoint.LocalityID]
	targets    map[string]lbtree.Target // by the name of the priority
	dialer     *dialer

	breaker  *breaker.Counter
	circuit  *breaker.Circuit                 // nil for gRPC channels
	plain    map[endpoint.LocalityID]*account // the common parts of accounts
	stray    *account                         // for addresses outside the cluster
	detected bool                             // accounts have outlier detection
	load     *loadReport
	outlier  *outlier.Machine
	interval serial.Timer      // of outlier detection
	labels   map[string]string // of all calls

	hasSessions bool // there was a call of a session
	sweep       serial.Timer
	grouped     [][]lbtree.Locality // the priorities, and the draining endpoints that sessions may use

	config xdsconfig.Cluster
	counts dropCounts
	child  balancer.State
	batch  lbtree.Batch
}

// newLeafCluster returns a cluster without a configuration.
func newLeafCluster(tree *lbtree.Env, name string, report lbtree.Report) *leafCluster {
	c := &leafCluster{tree: tree, name: name, report: report, load: new(loadReport), outlier: outlier.New(nil), child: lbtree.Connecting()}
	c.conn = &clusterConn{loopConn: loopConn{tree.Conn, tree.Loop}, options: tree.Options, addresses: make(map[string]*address)}
	c.env = &lbtree.Env{Loop: tree.Loop, Conn: c.conn, Options: tree.Options, Cluster: name, State: tree.State}
	if tree.State.TLS != nil {
		c.tls = tree.State.TLS.Cluster()
	}
	c.bindSessions()
	c.outlier.Detected = func(method, unenforced string) { c.env.State.Metrics.Outlier(c.name, method, unenforced) }
	c.batch.Report = c.publish
	c.priorities = newPriorities(tree.Loop,
		func(_ string, report lbtree.Report) *policy.Switch { return policy.New(c.env, report) },
		func(name string, s *policy.Switch) { s.Update(c.targets[name]) },
		func(s balancer.State) {
			c.child = s
			c.batch.Changed()
		})
	return c
}

// Update replaces the configuration of the cluster.
func (c *leafCluster) Update(config xdsconfig.Cluster) {
	last := c.config
	c.config = config
	c.env.State = c.tree.State
	if last.Update != nil && sameButNote(&last, &config) {
		c.batch.Changed()
		return
	}
	c.batch.Update(func() {
		if u := config.Update; config.Err == nil && u != nil {
			c.apply(u)
			return
		}
		c.targets = nil
		c.interval.Stop()
		c.updateHosts()
		c.priorities.Update(nil)
	})
}

// sameButNote reports whether two states of a cluster come from the same resources. A change of one
// cluster updates all clusters.
func sameButNote(a, b *xdsconfig.Cluster) bool {
	same := len(a.Localities) == len(b.Localities) && len(a.Drops) == len(b.Drops)
	if same && len(a.Localities) > 0 {
		same = &a.Localities[0] == &b.Localities[0]
	}
	if same && len(a.Drops) > 0 {
		same = &a.Drops[0] == &b.Drops[0]
	}
	return same && a.Update == b.Update && a.Err == nil && b.Err == nil
}

// apply applies the configuration of a usable cluster.
func (c *leafCluster) apply(u *cluster.Update) {
	_, logical := u.Discovery.(cluster.LogicalDNS)
	_, strict := u.Discovery.(cluster.StrictDNS)
	c.conn.resolves.Store(logical || strict)
	c.conn.proxied.Store(u.HTTPProxy)
	if c.tls != nil {
		c.tls.Update(u.TLS)
	}
	c.labels = labels.Of(u)
	service := serviceOf(c.name, u)
	counter := c.env.State.Breakers.Acquire(c.name, service)
	if c.breaker != nil {
		c.breaker.Release()
	}
	c.breaker = counter
	c.limit(u)
	next := &loadReport{name: c.name, service: service, server: u.LoadReports, propagation: load.Propagation(u.ReportMetrics)}
	old := c.load
	if !old.matches(next) {
		next.open(c.env.State.Loads, c.env.State.Logger)
		c.load = next
		defer old.end()
	}

	c.counts.keep(c.config.Drops)
	if c.dialer == nil || c.dialer.proxied != u.HTTPProxy || c.dialer.http != c.settings(u) {
		c.dialer = newDialer(c.tls, u.HTTPProxy).withHTTP(c.settings(u))
		c.plain = nil // so that all accounts are replaced
	}
	priorities := byPriority(c.config.Localities)
	ids := make([][]endpoint.LocalityID, len(priorities))
	for i, localities := range priorities {
		for _, l := range localities {
			ids[i] = append(ids[i], l.ID)
		}
	}
	c.dialer.drains = u.OverrideHosts.Draining
	all := c.dialer.priorities(priorities)
	names := c.names.assign(ids)
	c.targets = make(map[string]lbtree.Target, len(names))
	for i, name := range names {
		c.targets[name] = lbtree.Target{Policy: u.LBPolicy, Localities: all[i]}
	}
	c.grouped = append(slices.Clip(all), c.dialer.draining)
	c.count(u, c.grouped, &c.dialer.changed)
	c.updateHosts()
	c.priorities.Update(names)
}

// settings returns the settings of a cluster for its connections. They are zero for gRPC channels.
func (c *leafCluster) settings(u *cluster.Update) lbtree.HTTP {
	if u.HTTP == nil {
		return lbtree.HTTP{}
	}
	return lbtree.HTTP{ConnectTimeout: u.HTTP.ConnectTimeout, Version: u.HTTP.Version, Circuit: c.circuit}
}

// limit applies the limits of an HTTP cluster. The breaker is that of the cluster.
func (c *leafCluster) limit(u *cluster.Update) {
	if u.HTTP == nil {
		c.circuit = nil
		return
	}
	if c.circuit == nil {
		c.circuit = new(breaker.Circuit)
	}
	l := u.HTTP.Limits
	limits := breaker.Limits{Budget: l.Budget, HasBudget: l.HasBudget, PerConnection: l.PerConnection}
	limits.Most[breaker.Connections], limits.Most[breaker.Pending], limits.Most[breaker.Retries] = l.Connections, l.Pending, l.Retries
	if l.HasBudget {
		limits.Most[breaker.Retries] = l.BudgetMin
	}
	c.circuit.Set(c.breaker, limits)
}

// serviceOf returns the name of a cluster's EDS resource, or "" if it is the cluster's own name.
func serviceOf(name string, u *cluster.Update) string {
	if eds, ok := u.Discovery.(cluster.EDS); ok && eds.ServiceName != name {
		return eds.ServiceName
	}
	return ""
}

var errNoResource = errors.New("the cluster does not exist")

// publish reports the state of the cluster.
func (c *leafCluster) publish() {
	if c.config.Err != nil || c.config.Update == nil {
		err := c.config.Err
		if err == nil {
			err = errNoResource
		}
		c.report(lbtree.Failure(clusterError(c.name, err, nil)))
		return
	}
	if len(c.targets) == 0 {
		c.report(lbtree.Failure(clusterError(c.name, policy.ErrNoEndpoints, c.config.Note)))
		return
	}
	c.report(balancer.State{ConnectivityState: c.child.ConnectivityState, Picker: &clusterPicker{
		name: c.name, note: c.config.Note, drops: c.config.Drops, breaker: c.breaker, most: c.config.Update.MaxRequests,
		circuit: c.circuit, load: c.load.cluster, child: c.child, conn: c.conn, find: c.tree.Labels, labels: c.labels, dropped: c.counts.drops, refused: &c.counts.refused,
	}})
}

// ExitIdle connects idle endpoints.
func (c *leafCluster) ExitIdle() { c.priorities.ExitIdle() }

// Close closes all connections of the cluster.
func (c *leafCluster) Close() {
	c.batch.Close()
	c.interval.Stop()
	c.endSessions()
	c.priorities.Close()
	c.load.end()
	if c.breaker != nil {
		c.breaker.Release()
	}
	if c.tls != nil {
		c.tls.Close()
	}
}
