package routes

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"

	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// The kinds of errors of tables, for errors.Is.
var (
	// ErrNoRoute is the kind of the error of a request that no route matches.
	ErrNoRoute = errors.New("cannot route the call")
	// ErrUnusable is the kind of the error of a route whose action or settings the user does not support.
	ErrUnusable = errors.New("cannot route the call")
)

// Settings configure the errors of a table.
type Settings struct {
	// Where prefixes errors: the target and its data-plane authority.
	Where string
	// NodeID is the ID of the bootstrap's node.
	NodeID string
}

// A Table routes requests with one configuration. It is immutable, and keeps the clusters of its routes in the
// configuration until Release. P and T are the user's own parts of plans and targets.
type Table[P, T any] struct {
	settings Settings
	config   *xdsconfig.Config
	plans    map[*route.Route]*Plan[P, T]
	headers  bool // a route matches headers
	clusters map[string]*ref
}

// A Plan has the settings of the requests of a route.
type Plan[P, T any] struct {
	// Own is the user's part.
	Own P
	// Route is the route in the configuration.
	Route *route.Route
	// Err makes all requests of the route fail. Its kind is [ErrUnusable].
	Err     error
	targets []Target[T]
	total   uint32 // the sum of the targets' weights
}

// A Target is a cluster of a route.
type Target[T any] struct {
	// Own is the user's part.
	Own T
	// Call has the routing decisions of requests without a hash.
	Call   *lbtree.Call
	weight uint32
	ref    *ref
}

// A Maker makes the user's parts of a table. An error makes the requests of the route fail. The value beside the error
// is used.
type Maker[P, T any] interface {
	// Plan makes the part of the plan of the route with an index.
	Plan(h *route.VirtualHost, index int) (P, error)
	// Target makes the part of a target. The index is that of a weighted cluster, whose overrides these are.
	Target(plan P, index int, overrides map[string]route.FilterOverride) (T, error)
	// Action reports whether requests of a route whose action is not a cluster are supported. The error is the reason why
	// they are not.
	Action(r *route.Route) error
	// HeaderClusters returns the clusters that headers of requests may name. Without any, Action decides about such routes.
	HeaderClusters() []string
}

// Compile derives the table of a configuration with its virtual hosts. The caller must release it.
func Compile[P, T any](config *xdsconfig.Config, refs *Refs, s Settings, m Maker[P, T]) *Table[P, T] {
	room := 0
	for h := range config.VirtualHosts() {
		room += len(h.Routes)
	}
	t := &Table[P, T]{settings: s, config: config, plans: make(map[*route.Route]*Plan[P, T], room), clusters: make(map[string]*ref)}
	for h := range config.VirtualHosts() {
		for i := range h.Routes {
			r := &h.Routes[i]
			if r.Ignored != "" {
				continue
			}
			b := builder[P, T]{refs: refs, maker: m, table: t, host: h, index: i, plan: &Plan[P, T]{Route: r}}
			b.build()
			t.plans[r] = b.plan
			t.headers = t.headers || len(r.Headers) > 0
		}
	}
	return t
}

// A builder creates the plan of a route.
type builder[P, T any] struct {
	refs  *Refs
	maker Maker[P, T]
	table *Table[P, T]
	host  *route.VirtualHost
	index int // of the route
	plan  *Plan[P, T]
}

func (b *builder[P, T]) build() {
	r := b.plan.Route
	var err error
	if b.plan.Own, err = b.maker.Plan(b.host, b.index); err != nil {
		b.fail(err)
		return
	}
	switch a := r.Action.(type) {
	case route.Cluster:
		b.add(a.Name, 1, 0, nil)
	case route.WeightedClusters:
		for i := range a.Clusters {
			b.add(a.Clusters[i].Name, a.Clusters[i].Weight, i, a.Clusters[i].Overrides)
		}
	case route.Specifier:
		b.add(xdsconfig.PluginTarget(a.Name), 1, 0, nil)
	case route.ClusterHeader:
		for _, name := range b.maker.HeaderClusters() {
			b.add(name, 0, 0, nil)
		}
	default:
	}
	b.nameClusters()
	if len(b.plan.targets) > 0 || b.plan.Err != nil {
		return
	}
	if err := b.maker.Action(r); err != nil {
		b.fail(err)
	}
}

// nameClusters gives the calls of all targets the names of the route's clusters, unless a plugin or a header chooses the
// cluster.
func (b *builder[P, T]) nameClusters() {
	switch b.plan.Route.Action.(type) {
	case route.Cluster, route.WeightedClusters:
	default:
		return
	}
	names := make([]string, 0, len(b.plan.targets))
	for i := range b.plan.targets {
		names = append(names, b.plan.targets[i].Call.Cluster)
	}
	for i := range b.plan.targets {
		b.plan.targets[i].Call.Clusters = names
	}
}

// fail makes the requests of the plan fail.
func (b *builder[P, T]) fail(err error) {
	b.plan.Err = b.table.Trouble(ErrUnusable, fmt.Sprintf("virtual host %s: route %s: %s",
		label(b.host.Name), label(b.plan.Route.Name), printable.Text(err.Error(), printable.Quoted)))
}

// add adds a target.
func (b *builder[P, T]) add(name string, weight uint32, index int, overrides map[string]route.FilterOverride) {
	own, err := b.maker.Target(b.plan.Own, index, overrides)
	if err != nil {
		b.fail(err)
		return
	}
	f := b.table.clusters[name]
	if f == nil {
		f = b.refs.get(name)
		b.table.clusters[name] = f
	}
	b.plan.total += weight
	call := &lbtree.Call{Cluster: name, AutoHostRewrite: b.plan.Route.AutoHostRewrite}
	if authority := b.plan.Route.HostRewrite; authority != "" {
		call.Authority = metadata.Pairs(":authority", authority)
	}
	b.plan.targets = append(b.plan.targets, Target[T]{Own: own, weight: weight, ref: f, Call: call})
}

// IsFor reports whether the table of another configuration would be equal. A nil table is equal to none.
func (t *Table[P, T]) IsFor(config *xdsconfig.Config) bool {
	return t != nil && t.config.SameRouting(config)
}

// Plans yields the plans of all routes, in no order.
func (t *Table[P, T]) Plans() iter.Seq[*Plan[P, T]] { return maps.Values(t.plans) }

// ReadsHeaders reports whether a route matches headers. Otherwise Plan does not need them.
func (t *Table[P, T]) ReadsHeaders() bool { return t.headers }

// Plan returns the plan of a request. The kind of the error is [ErrNoRoute].
func (t *Table[P, T]) Plan(path string, headers route.Headers) (*Plan[P, T], error) {
	r := t.config.VirtualHost.Match(path, headers)
	if r == nil {
		return nil, t.noRoute(t.config.VirtualHost, path)
	}
	return t.plans[r], nil
}

// HTTPPlan is Plan by the rules of profile HTTP. The authority chooses the virtual host, if the configuration has several.
func (t *Table[P, T]) HTTPPlan(authority, path string, r route.HTTPRequest) (*Plan[P, T], error) {
	h := t.config.VirtualHost
	if h == nil {
		if h = t.config.Route.VirtualHost(authority); h == nil {
			return nil, t.Trouble(ErrNoRoute, "no virtual host is for "+label(authority))
		}
	}
	i := h.MatchHTTP(path, r)
	if i < 0 {
		return nil, t.noRoute(h, printable.Text(path, printable.Short))
	}
	return t.plans[&h.Routes[i]], nil
}

func (t *Table[P, T]) noRoute(h *route.VirtualHost, path string) error {
	return t.Trouble(ErrNoRoute, fmt.Sprintf("no route of virtual host %s takes %s", label(h.Name), path))
}

// Choose returns one of the targets, by weight. It returns nil if the action of the route is not a cluster.
func (p *Plan[P, T]) Choose() *Target[T] {
	switch len(p.targets) {
	case 0:
		return nil
	case 1:
		return &p.targets[0]
	}
	at := rand.Uint32N(p.total)
	i := slices.IndexFunc(p.targets, func(t Target[T]) bool {
		if at < t.weight {
			return true
		}
		at -= t.weight
		return false
	})
	return &p.targets[i]
}

// Named returns the target of a cluster, or nil if the route does not have it.
func (p *Plan[P, T]) Named(cluster string) *Target[T] {
	i := slices.IndexFunc(p.targets, func(t Target[T]) bool { return t.Call.Cluster == cluster })
	if i < 0 {
		return nil
	}
	return &p.targets[i]
}

// Acquire keeps the cluster for a request. It returns false if another table has replaced the table of the target.
// Otherwise the caller must call Release.
func (t *Target[T]) Acquire() bool { return t.ref.acquire() }

// Release reverses Acquire.
func (t *Target[T]) Release() { t.ref.drop() }

// Trouble returns an error about the routes. The text may contain text of control planes.
func (t *Table[P, T]) Trouble(kind error, text string) error {
	return fmt.Errorf("%s: %w", t.settings.Where, &resource.Error{
		Kind: kind, Type: route.Type().Name(), Name: t.config.Route.Name(),
		Server: t.config.Route.Server().URI(), NodeID: t.settings.NodeID, Err: errors.New(text),
	})
}

// Release releases the clusters of the table.
func (t *Table[P, T]) Release() {
	for _, f := range t.clusters {
		f.drop()
	}
}

// label quotes a name for an error. It clips long names, because each of many routes may have an error.
func label(name string) string { return printable.Quote(name, printable.Short) }
