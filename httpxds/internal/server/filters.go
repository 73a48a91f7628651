package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Registry has the filters that run. It is immutable.
type Registry struct {
	filters map[string]httpfilter.Filter // keyed by the message of the configuration
}

// NewRegistry creates a Registry. It returns an error if two filters read the same message, or if a filter lacks a half.
func NewRegistry(list []httpfilter.Filter) (*Registry, error) {
	r := &Registry{filters: make(map[string]httpfilter.Filter, len(list))}
	var errs []error
	for _, f := range list {
		switch {
		case f.HTTPFilter == nil:
			errs = append(errs, errors.New("Filter.HTTPFilter is nil; must be set, because it parses the configuration"))
			continue
		case !f.Terminal && f.Sides&resource.ServerSide != 0 && f.NewServer == nil:
			errs = append(errs, fmt.Errorf("Filter.NewServer of %s is nil; must be set if Sides includes ServerSide", f.Config))
		}
		if _, twice := r.filters[f.Config]; twice {
			errs = append(errs, fmt.Errorf("the HTTP filter %s is there twice", f.Config))
		}
		r.filters[f.Config] = f
	}
	return r, errors.Join(errs...)
}

// known returns the filter that runs on a server with a configuration message, or nil.
func (r *Registry) known(message string) *resource.HTTPFilter {
	f, ok := r.filters[message]
	if !ok || !f.Terminal && f.NewServer == nil {
		return nil
	}
	return f.HTTPFilter
}

// A chainFilters creates the handlers of one filter chain's routes.
type chainFilters struct {
	*backend

	set  *filters.Set[httpfilter.ServerInstance]
	id   any // of the filter chain
	list []listener.HTTPFilter
	made map[place]httpfilter.ServerInterceptor
}

// A place is a filter with the indexes of the virtual host and the route that override its configuration, or -1.
type place struct {
	name        string
	host, route int
}

// wrap returns a handler that passes requests through the filters of a route to next.
func (c *chainFilters) wrap(h *route.VirtualHost, host, index int, next http.Handler) (http.Handler, error) {
	t := &h.Routes[index]
	entries, err := filters.Entries(c.list, c.config.Filters.known, h.Overrides, t.Overrides)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		at, scope := place{e.Name, -1, -1}, ""
		switch e.Level {
		case 0:
			at, scope = place{e.Name, host, -1}, fmt.Sprintf("%q", h.Name)
		case 1:
			at, scope = place{e.Name, host, index}, fmt.Sprintf("%q %q", h.Name, t.Name)
			if t.Name == "" {
				scope = fmt.Sprintf("%q #%d", h.Name, index)
			}
		}
		i, err := c.interceptor(at, e, scope)
		if err != nil {
			return nil, fmt.Errorf("HTTP filter %s: %w", printable.Quote(e.Name, printable.Short), printable.Error(err))
		}
		if i != nil {
			next = i.Wrap(next)
		}
	}
	return next, nil
}

// interceptor returns the interceptor of a place. It creates the interceptor for the first route that uses it.
func (c *chainFilters) interceptor(at place, e filters.Entry, scope string) (httpfilter.ServerInterceptor, error) {
	if i, ok := c.made[at]; ok {
		return i, nil
	}
	f := c.config.Filters.filters[e.Message]
	key := filters.Key{Chain: c.id, Name: e.Name, Message: e.Message}
	instance, err := c.set.Instance(key, func() (httpfilter.ServerInstance, error) {
		return f.NewServer(httpfilter.Host{Name: e.Name, Logger: c.config.Logger})
	})
	if err != nil {
		return nil, err
	}
	i, err := instance.Interceptor(httpfilter.Use{Config: e.Config, Override: e.Override, Scope: scope})
	if err != nil {
		return nil, err
	}
	if closer, ok := i.(io.Closer); ok {
		c.set.OnEnd(func() { _ = closer.Close() }) // the filter reports its own errors
	}
	c.made[at] = i
	return i, nil
}
