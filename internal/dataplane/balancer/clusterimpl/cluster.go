// Package clusterimpl applies the settings of one cluster to its calls, whichever endpoint they go
// to. It drops calls (gRFC A27), breaks the circuit (A32), and counts calls for load reports (A47,
// A64, A85). It ejects outliers (A50), above all priorities as in A75, and sets the endpoint's
// authority (A81). Below it are the cluster's priorities.
package clusterimpl

import (
	"errors"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/policy"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/priority"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// Around is the environment of the clusters of one tree.
type Around struct {
	Loop    *serial.Loop
	Conn    balancer.ClientConn
	Options balancer.BuildOptions
	// State is the newest state of the resolver, with breakers and a logger. Only its Config
	// changes.
	State *xdsconfig.State
	// Attributes are the attributes of that state. Clusters do not pass them on, because policies
	// that keep them would keep old configurations.
	Attributes *attributes.Attributes
}

// A Cluster is a cluster that is not an aggregate.
type Cluster struct {
	around *Around
	name   string
	report node.Report

	env        *node.Env
	conn       *conn
	tls        *security.Cluster // nil: only the channel's credentials
	priorities *priority.Policy[*policy.Switch]
	names      priority.Names[endpoint.LocalityID]
	targets    map[string]node.Target

	breaker *breaker.Counter
	load    *loadReport
	outlier *outlier.Machine
	turn    serial.Timer

	config xdsconfig.Cluster
	child  balancer.State
	busy   bool
}

// New returns a cluster without a configuration.
func New(around *Around, name string, report node.Report) *Cluster {
	c := &Cluster{around: around, name: name, report: report, load: new(loadReport), outlier: outlier.New(nil), child: node.Connecting()}
	c.conn = &conn{ClientConn: around.Conn, loop: around.Loop, options: around.Options, subConns: make(map[*subConn]struct{})}
	c.env = &node.Env{Loop: around.Loop, Conn: c.conn, Options: around.Options}
	if around.State.TLS != nil {
		c.tls = around.State.TLS.Cluster()
	}
	c.priorities = priority.New(around.Loop, c, func(s balancer.State) {
		c.child = s
		c.publish()
	})
	return c
}

// Update replaces the configuration of the cluster.
func (c *Cluster) Update(config xdsconfig.Cluster) {
	last := c.config
	c.config = config
	if last.Update != nil && sameButNote(&last, &config) {
		c.publish()
		return
	}
	c.busy = true
	c.env.RingSizeCap = c.around.State.RingSizeCap
	if u := config.Update; config.Err == nil && u != nil {
		_, dns := u.Discovery.(cluster.LogicalDNS)
		c.conn.resolves.Store(dns)
		c.conn.proxied.Store(u.HTTPProxy)
		if c.tls != nil {
			c.tls.Update(u.TLS)
		}
		c.usable(u)
	} else {
		c.targets = nil
		c.turn.Stop()
		c.priorities.Update(nil)
	}
	c.busy = false
	c.publish()
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

// usable applies the configuration of a usable cluster.
func (c *Cluster) usable(u *cluster.Update) {
	service := serviceOf(c.name, u)
	counter := c.around.State.Breakers.Acquire(c.name, service)
	if c.breaker != nil {
		c.breaker.Release()
	}
	c.breaker = counter
	next := &loadReport{name: c.name, service: service, server: u.LoadReports, propagation: load.Propagation(u.ReportMetrics)}
	old := c.load
	if !old.matches(next) {
		next.open(c.around.State.Loads, c.around.State.Logger)
		c.load = next
		defer old.close()
	}

	d := newDialer(c.tls, u.HTTPProxy)
	priorities := byPriority(c.config.Localities)
	ids := make([][]endpoint.LocalityID, len(priorities))
	all := make([][]node.Locality, len(priorities))
	for i, localities := range priorities {
		for _, l := range localities {
			ids[i] = append(ids[i], l.ID)
		}
		all[i] = d.localities(localities)
	}
	names := c.names.Name(ids)
	c.targets = make(map[string]node.Target, len(names))
	for i, name := range names {
		c.targets[name] = node.Target{Policy: u.LBPolicy, Localities: all[i]}
	}
	c.count(u, all)
	c.priorities.Update(names)
}

// serviceOf returns the name of a cluster's EDS resource, or "" if it is the cluster's own name.
func serviceOf(name string, u *cluster.Update) string {
	if eds, ok := u.Discovery.(cluster.EDS); ok && eds.ServiceName != name {
		return eds.ServiceName
	}
	return ""
}

var errNoResource = errors.New("there is no such cluster")

// publish reports the state of the cluster.
func (c *Cluster) publish() {
	if c.busy {
		return
	}
	if c.config.Err != nil || c.config.Update == nil {
		err := c.config.Err
		if err == nil {
			err = errNoResource
		}
		c.report(node.Failure(explained(c.name, err, nil)))
		return
	}
	if len(c.targets) == 0 {
		c.report(node.Failure(explained(c.name, policy.ErrNoEndpoints, c.config.Note)))
		return
	}
	c.report(balancer.State{ConnectivityState: c.child.ConnectivityState, Picker: &picker{
		name: c.name, note: c.config.Note, drops: c.config.Drops, breaker: c.breaker, most: c.config.Update.MaxRequests,
		load: c.load.cluster, child: c.child,
	}})
}

// Build implements [priority.Host]. It starts the policy of a priority.
func (c *Cluster) Build(_ string, report node.Report) *policy.Switch {
	return policy.New(c.env, report)
}

// Configure implements [priority.Host]. It updates the policy of a priority.
func (c *Cluster) Configure(name string, s *policy.Switch) { s.Update(c.targets[name]) }

// ExitIdle connects idle endpoints.
func (c *Cluster) ExitIdle() { c.priorities.ExitIdle() }

// Close closes all connections of the cluster.
func (c *Cluster) Close() {
	c.busy = true
	c.turn.Stop()
	c.priorities.Close()
	c.load.close()
	if c.breaker != nil {
		c.breaker.Release()
	}
	if c.tls != nil {
		c.tls.Close()
	}
}
