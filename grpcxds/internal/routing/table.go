package routing

import (
	"errors"
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/internal/telemetry"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// Settings configure a table, in addition to the configuration.
type Settings struct {
	// Filters are the filters that can run.
	Filters *filterchain.Registry
	// Where prefixes errors: the target and its data-plane authority.
	Where string
	// NodeID is the ID of the bootstrap's node, for errors.
	NodeID string
	// Metrics records retries. Nil records none.
	Metrics *telemetry.Target
}

// A Table routes calls with one configuration. It is immutable, and keeps the clusters of its routes
// in the configuration.
type Table struct {
	settings Settings
	config   *xdsconfig.Config
	plans    map[*route.Route]*plan
	headers  bool // a route matches headers
	clusters map[string]*clusterRef
}

// A plan has the settings of the calls of a route.
type plan struct {
	targets []target
	total   uint32 // the sum of the targets' weights
	limit   time.Duration
	retry   *retry
	hash    []route.HashPolicy
	id      uint64 // the channel's
	// err makes all calls fail, after they have passed the filters of chain (A36).
	err   error
	chain *filterchain.ClientChain
}

// A target is a cluster of a route, and its filters.
type target struct {
	weight uint32
	ref    *clusterRef
	call   *lbtree.Call // for calls without a hash
	chain  *filterchain.ClientChain
}

// Compile makes the table of a configuration with a virtual host. The table must be given to Set.
func (c *Interceptors) Compile(config *xdsconfig.Config, s Settings) *Table {
	t := &Table{settings: s, config: config, plans: make(map[*route.Route]*plan, len(config.VirtualHost.Routes)), clusters: make(map[string]*clusterRef)}
	list, listErr := s.Filters.Client(config.Listener.API.Filters)
	if listErr == nil {
		list, listErr = list.Override(config.VirtualHost.Overrides)
	}
	for i := range config.VirtualHost.Routes {
		r := &config.VirtualHost.Routes[i]
		if r.Ignored != "" {
			continue
		}
		b := planBuilder{c, t, r, &plan{limit: limit(config, r), hash: r.HashPolicies, id: c.id}}
		if !c.noRetry {
			b.plan.retry = newRetry(config.VirtualHost.RetryFor(r))
		}
		b.build(list, listErr)
		t.plans[r] = b.plan
		t.headers = t.headers || len(r.Headers) > 0
	}
	return t
}

// IsFor reports whether the table of another configuration would be equal. A nil table is equal to
// none.
func (t *Table) IsFor(config *xdsconfig.Config) bool {
	return t != nil && t.config.Listener == config.Listener && t.config.Route == config.Route &&
		t.config.VirtualHost == config.VirtualHost
}

// limit returns the time limit of a call; 0: none (A31).
func limit(config *xdsconfig.Config, r *route.Route) time.Duration {
	switch {
	case r.GRPCTimeoutHeaderMax != nil:
		return *r.GRPCTimeoutHeaderMax
	case r.MaxStreamDuration != nil:
		return *r.MaxStreamDuration
	}
	return config.Listener.API.MaxStreamDuration
}

// A planBuilder creates the plan of a route.
type planBuilder struct {
	interceptors *Interceptors
	table        *Table
	route        *route.Route
	plan         *plan
}

func (b *planBuilder) build(list *filterchain.ClientChain, err error) {
	if err == nil {
		b.plan.chain, err = list.Override(b.route.Overrides)
	}
	if err != nil {
		b.fail(err)
		return
	}
	switch a := b.route.Action.(type) {
	case route.Cluster:
		b.add(a.Name, 1, nil)
	case route.WeightedClusters:
		for i := range a.Clusters {
			b.add(a.Clusters[i].Name, a.Clusters[i].Weight, a.Clusters[i].Overrides)
		}
	case route.Specifier:
		b.add(xdsconfig.PluginTarget(a.Name), 1, nil)
	case route.NonForwarding:
		b.fail(errors.New("its action, non_forwarding_action, is for servers (A36)"))
	default:
		b.fail(errors.New("unsupported route action (A36)"))
	}
}

// fail makes the calls of the plan fail.
func (b *planBuilder) fail(err error) {
	b.plan.err = b.table.trouble(fmt.Sprintf("virtual host %s: route %s: %s",
		label(b.table.config.VirtualHost.Name), label(b.route.Name), printable.Text(err.Error(), printable.Quoted)))
}

// add adds a target.
func (b *planBuilder) add(name string, weight uint32, overrides map[string]route.FilterOverride) {
	chain, err := b.plan.chain.Override(overrides)
	if err != nil {
		b.fail(err)
		return
	}
	ref := b.table.clusters[name]
	if ref == nil {
		ref = b.interceptors.refs.get(name)
		b.table.clusters[name] = ref
	}
	b.plan.total += weight
	b.plan.targets = append(b.plan.targets, target{
		weight: weight, ref: ref, chain: chain,
		call: &lbtree.Call{Cluster: name, AutoHostRewrite: b.route.AutoHostRewrite},
	})
}

// label quotes a name for an error. It clips long names, because each of many routes may have an
// error.
func label(name string) string { return printable.Quote(name, printable.Short) }

// trouble returns an error about the routes.
func (t *Table) trouble(what string) error {
	return fmt.Errorf("%s: %w", t.settings.Where, &resource.Error{
		Kind: errUnroutable, Type: route.Type().Name(), Name: t.config.Route.Name(),
		Server: t.config.Route.Server().URI(), NodeID: t.settings.NodeID, Err: errors.New(what),
	})
}

var errUnroutable = errors.New("cannot route the call")

// release releases the clusters of the table.
func (t *Table) release() {
	for _, r := range t.clusters {
		r.drop()
	}
}
