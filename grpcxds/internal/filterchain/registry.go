// Package filterchain makes chains of interceptors from a configuration's HTTP filters (gRFC A39).
//
// A [Registry] has the known filters, and creates the [List] of a Listener. [List.Override] derives the list of a virtual
// host, from that the list of a route, and from that the list of a weighted cluster. A level without overrides uses the
// same list. [List.Chain] creates the interceptors of a place that calls can reach. A filter that is disabled in all of
// these places has none, and no instance. All chains are created when a configuration is received. A call passes the
// chain of its route, even if the route has no usable action. Such a call fails after the filters (gRFC A36).
//
// All chains of a configuration take the instances of their filters from one set of package
// internal/dataplane/filters. A call acquires its chain, so that no filter is closed while the call uses it.
package filterchain

import (
	"errors"
	"fmt"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

type (
	// A ServerHolder has the instances of a server's port.
	ServerHolder = filters.Holder[httpfilter.ServerInstance]
	// A ClientHolder has the instances of a channel.
	ClientHolder = filters.Holder[httpfilter.ClientInstance]
	// A ServerSet has the filters of one configuration of a port.
	ServerSet = filters.Set[httpfilter.ServerInstance]
	// A ClientSet has the filters of one configuration of a channel.
	ClientSet = filters.Set[httpfilter.ClientInstance]
)

// A Registry has the filters that run. It is immutable.
type Registry struct {
	filters map[string]httpfilter.Filter // keyed by the message of the configuration
}

// New creates a Registry. It returns an error if two filters read the same message, or if a filter lacks the half for one
// of its sides. It reports all errors.
func New(all []httpfilter.Filter) (*Registry, error) {
	r := &Registry{filters: make(map[string]httpfilter.Filter, len(all))}
	var errs []error
	for _, f := range all {
		if err := check(f); err != nil {
			errs = append(errs, err)
			continue
		}
		if _, twice := r.filters[f.Config]; twice {
			errs = append(errs, fmt.Errorf("filterchain: the HTTP filter %s is there twice", f.Config))
		}
		r.filters[f.Config] = f
	}
	return r, errors.Join(errs...)
}

func check(f httpfilter.Filter) error {
	switch {
	case f.HTTPFilter == nil:
		return errors.New("filterchain: Filter.HTTPFilter is nil; must be set, because it parses the configuration")
	case f.Terminal:
		return nil
	case f.Sides&resource.ServerSide != 0 && f.NewServer == nil:
		return fmt.Errorf("filterchain: Filter.NewServer of %s is nil; must be set if Sides includes ServerSide", f.Config)
	case f.Sides&resource.ClientSide != 0 && f.NewClient == nil:
		return fmt.Errorf("filterchain: Filter.NewClient of %s is nil; must be set if Sides includes ClientSide", f.Config)
	}
	return nil
}

// Filter returns the filter that runs with a configuration message, or nil.
func (r *Registry) Filter(message string) *httpfilter.Filter {
	if f, ok := r.filters[message]; ok {
		return &f
	}
	return nil
}

// Server creates the list of a server's filter chain, which chain identifies among those of the port. The error names a
// filter that cannot run on servers. Calls must fail then.
func (r *Registry) Server(set *ServerSet, chain any, host httpfilter.Host, list []listener.HTTPFilter) (*ServerList, error) {
	links, err := build[httpfilter.ServerInterceptor](r, set, chain, "server", list, func(f httpfilter.Filter, name string) func() (httpfilter.ServerInstance, error) {
		if f.NewServer == nil {
			return nil
		}
		own := host // of this filter, which is created later
		own.Name, own.Filter = name, r.Filter
		return func() (httpfilter.ServerInstance, error) { return f.NewServer(own) }
	})
	if err != nil {
		return nil, err
	}
	return &ServerList{links: links, set: set}, nil
}

// Client creates a channel's list of filters. The error names a filter that cannot run on channels. Calls must fail then.
func (r *Registry) Client(set *ClientSet, host httpfilter.Host, list []listener.HTTPFilter) (*ClientList, error) {
	links, err := build[httpfilter.ClientInterceptor](r, set, nil, "client", list, func(f httpfilter.Filter, name string) func() (httpfilter.ClientInstance, error) {
		if f.NewClient == nil {
			return nil
		}
		own := host // of this filter, which is created later
		own.Name, own.Filter = name, r.Filter
		return func() (httpfilter.ClientInstance, error) { return f.NewClient(own) }
	})
	if err != nil {
		return nil, err
	}
	return &ClientList{links: links, set: set}, nil
}

// build creates the links of a list without overrides. It leaves out skipped filters and ends at the terminal filter.
// create returns nil if a filter cannot run on this side.
func build[I any, N instance[I]](r *Registry, set *filters.Set[N], chain any, side string, list []listener.HTTPFilter, create func(httpfilter.Filter, string) func() (N, error)) ([]link[I], error) {
	var links []link[I]
	for _, l := range list {
		if l.Skipped != "" {
			continue
		}
		f := r.filters[l.Message]
		if f.HTTPFilter != nil && f.Terminal {
			break
		}
		creates := create(f, l.Name)
		if creates == nil {
			return nil, fmt.Errorf("filterchain: HTTP filter %s: %s cannot run on a %s",
				printable.Quote(l.Name, printable.Short), printable.Text(l.Message, printable.Short), side)
		}
		added := link[I]{name: l.Name, filter: f.HTTPFilter, config: l.Config, instance: sync.OnceValues(func() (instance[I], error) {
			return set.Instance(filters.Key{Chain: chain, Name: l.Name, Message: l.Message}, creates)
		})}
		if !l.Disabled { // otherwise only an override can enable it
			added.use = new(use[I])
		}
		links = append(links, added)
	}
	return links, nil
}
