package routing

import (
	"errors"
	"time"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
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
	// Host describes the channel to filters, without the name of an entry.
	Host httpfilter.Host
	// Metrics records retries. Nil records none.
	Metrics *telemetry.Target
}

// A Table routes calls with one configuration. It is immutable, and keeps the clusters of its routes
// in the configuration and its filters open.
type Table struct {
	*routes.Table[settings, *filterchain.ClientChain]
	filters *filterchain.ClientSet
	metrics *telemetry.Target
	retry   *retry // of all routes; nil: they differ, or have none
	native  bool   // gRPC retries the calls
}

type (
	// A plan has the settings of the calls of a route.
	plan = routes.Plan[settings, *filterchain.ClientChain]
	// A target is a cluster of a route, and its filters.
	target = routes.Target[*filterchain.ClientChain]
)

// settings are gRPC's part of a plan.
type settings struct {
	limit time.Duration
	retry *retry
	hash  []route.HashPolicy
	id    uint64                  // the channel's
	list  *filterchain.ClientList // the filters of the route
	// chain has the filters of calls that fail because of the plan's error (A36). Otherwise it is nil.
	chain *filterchain.ClientChain
}

// Compile makes the table of a configuration with a virtual host. The table must be given to Set.
func (c *Interceptors) Compile(config *xdsconfig.Config, s Settings) *Table {
	m := &maker{interceptors: c, config: config}
	set := c.filters.Begin()
	m.list, m.err = s.Filters.Client(set, s.Host, config.HTTPFilters())
	if m.err == nil {
		m.list, m.err = m.list.Override(config.VirtualHost.Overrides)
	}
	t := &Table{Table: routes.Compile(config, &c.refs, routes.Settings{Where: s.Where, NodeID: s.NodeID}, m), filters: set, metrics: s.Metrics}
	for p := range t.Plans() {
		if p.Err != nil {
			p.Own.chain, _ = p.Own.list.Chain() // without a chain, the calls fail as well
		}
		p.Own.list = nil // all chains are there
	}
	if m.uniform {
		t.retry = m.retry
	}
	return t
}

// Release releases the clusters and the filters of the table.
func (t *Table) Release() {
	t.Table.Release()
	t.filters.Release()
}

// IsFor reports whether the table of another configuration would be equal. A nil table is equal to
// none.
func (t *Table) IsFor(config *xdsconfig.Config) bool { return t != nil && t.Table.IsFor(config) }

// A maker makes the gRPC part of a table.
type maker struct {
	interceptors *Interceptors
	config       *xdsconfig.Config
	list         *filterchain.ClientList // the filters of the virtual host
	err          error                   // why there is no list

	planned bool   // there is a plan
	uniform bool   // all plans have the retry policy of the first one
	retry   *retry // of the first plan
}

// compare notes the retry policy of another plan.
func (m *maker) compare(r *retry) {
	switch {
	case !m.planned:
		m.planned, m.uniform, m.retry = true, true, r
	case r == nil || m.retry == nil:
		m.uniform = m.uniform && r == m.retry
	default:
		m.uniform = m.uniform && *r == *m.retry
	}
}

// Plan implements [routes.Maker].
func (m *maker) Plan(h *route.VirtualHost, index int) (settings, error) {
	r := &h.Routes[index]
	s := settings{limit: limit(m.config, r), hash: r.HashPolicies, id: m.interceptors.id}
	if !m.interceptors.noRetry {
		s.retry = newRetry(h.RetryFor(r))
	}
	m.compare(s.retry)
	err := m.err
	if err == nil {
		s.list, err = m.list.Override(r.Overrides)
	}
	return s, err
}

// Target implements [routes.Maker].
func (*maker) Target(s settings, _ int, overrides map[string]route.FilterOverride) (*filterchain.ClientChain, error) {
	list, err := s.list.Override(overrides)
	if err != nil {
		return nil, err
	}
	return list.Chain()
}

// HeaderClusters implements [routes.Maker]. gRPC ignores routes whose cluster a header names (A28).
func (*maker) HeaderClusters() []string { return nil }

// Action implements [routes.Maker].
func (*maker) Action(r *route.Route) error {
	if _, ok := r.Action.(route.NonForwarding); ok {
		return errors.New("its action, non_forwarding_action, is for servers (A36)")
	}
	return errors.New("unsupported route action (A36)")
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
