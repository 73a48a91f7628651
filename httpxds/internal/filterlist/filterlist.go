// Package filterlist creates the interceptors of a list of HTTP filters for the routes of HTTP clients and servers.
package filterlist

import (
	"fmt"
	"io"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// An Instance creates interceptors of type C.
type Instance[C any] interface {
	filters.Instance
	Interceptor(httpfilter.Use) (C, error)
}

// A List creates the interceptors of one list of filters in one configuration.
type List[I Instance[C], C any] struct {
	// Set has the lifetimes of the configuration.
	Set *filters.Set[I]
	// Chain identifies the list on its client or port.
	Chain any
	// Filters is the list of the Listener.
	Filters []listener.HTTPFilter
	// Known returns the filter that runs here with a configuration message, or nil.
	Known func(message string) *resource.HTTPFilter
	// New creates the instance of an entry.
	New func(filters.Entry) (I, error)

	made map[place]result[C]
}

// A place is a filter with the levels that override its configuration: the RouteConfiguration, a virtual host or nil, and indexes or
// -1.
type place struct {
	name           string
	config         bool // the RouteConfiguration
	host           *route.VirtualHost
	route, cluster int
}

type result[C any] struct {
	interceptor C
	err         error
}

// A Position is a route of a virtual host, or one of its weighted clusters. The zero Position is that of requests without a
// route.
type Position struct {
	// Config is the RouteConfiguration, whose overrides apply to all routes.
	Config      *route.Update
	VirtualHost *route.VirtualHost
	// Route is the index of the route.
	Route int
	// Overrides are those of the weighted cluster with the index Cluster. Nil: there is none.
	Overrides map[string]route.FilterOverride
	Cluster   int
}

// Interceptors returns the interceptors of a position, in the order of the list. It leaves out those that are nil. The error
// names an entry that cannot run. Requests must fail then.
func (l *List[I, C]) Interceptors(p Position) ([]C, error) {
	all, host, own := p.overrides()
	entries, err := filters.Entries(l.Filters, l.Known, all, host, own, p.Overrides)
	if err != nil {
		return nil, err
	}
	var out []C
	for _, e := range entries {
		i, err := l.interceptor(p.place(e), e, p.scope(e.Level))
		if err != nil {
			return nil, fmt.Errorf("HTTP filter %s: %w", printable.Quote(e.Name, printable.Short), printable.Error(err))
		}
		if any(i) != nil {
			out = append(out, i)
		}
	}
	return out, nil
}

// overrides returns those of the RouteConfiguration, of the virtual host and of the route.
func (p *Position) overrides() (all, host, own map[string]route.FilterOverride) {
	if p.VirtualHost == nil {
		return nil, nil, nil
	}
	if p.Config != nil {
		all = p.Config.Overrides
	}
	return all, p.VirtualHost.Overrides, p.VirtualHost.Routes[p.Route].Overrides
}

// The levels of overrides, from the least to the most specific one.
const (
	levelConfig = iota
	levelHost
	levelRoute
	levelCluster
)

// place returns the place of an entry's configuration.
func (p *Position) place(e filters.Entry) place {
	at := place{e.Name, e.Level == levelConfig, nil, -1, -1}
	if e.Level >= levelHost {
		at.host = p.VirtualHost
	}
	if e.Level >= levelRoute {
		at.route = p.Route
	}
	if e.Level == levelCluster {
		at.cluster = p.Cluster
	}
	return at
}

// scope returns the text that identifies a place across updates.
func (p *Position) scope(level int) string {
	switch {
	case level < 0:
		return ""
	case level == levelConfig:
		return "all routes"
	}
	t := &p.VirtualHost.Routes[p.Route]
	scope := fmt.Sprintf("%q", p.VirtualHost.Name)
	switch {
	case level == levelHost:
		return scope
	case t.Name == "":
		scope += fmt.Sprintf(" #%d", p.Route)
	default:
		scope += fmt.Sprintf(" %q", t.Name)
	}
	if level == levelCluster {
		scope += fmt.Sprintf(" #%d", p.Cluster)
	}
	return scope
}

// interceptor returns the interceptor of a place. It creates the interceptor for the first route that uses it.
func (l *List[I, C]) interceptor(at place, e filters.Entry, scope string) (C, error) {
	if r, ok := l.made[at]; ok {
		return r.interceptor, r.err
	}
	var r result[C]
	r.interceptor, r.err = l.create(e, scope)
	if l.made == nil {
		l.made = make(map[place]result[C])
	}
	l.made[at] = r
	return r.interceptor, r.err
}

func (l *List[I, C]) create(e filters.Entry, scope string) (i C, err error) {
	instance, err := l.Set.Instance(filters.Key{Chain: l.Chain, Name: e.Name, Message: e.Message}, func() (I, error) { return l.New(e) })
	if err != nil {
		return i, err
	}
	if i, err = instance.Interceptor(httpfilter.Use{Config: e.Config, Override: e.Override, Scope: scope}); err != nil {
		return i, err
	}
	if closer, ok := any(i).(io.Closer); ok {
		l.Set.OnEnd(func() { _ = closer.Close() }) // the filter reports its own errors
	}
	return i, nil
}
