package builtin

import (
	"errors"
	"fmt"
	"io"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/filterlist"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
)

// compositeFilter returns the composite filter (A103). A matcher chooses the filters of each request. As in Envoy, a request
// without a match passes (ADR 318).
func compositeFilter() httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: composite.Filter(),
		NewServer: func(h httpfilter.Host) (httpfilter.ServerInstance, error) {
			return &composed[httpfilter.ServerInstance, httpfilter.ServerInterceptor]{
				host: h,
				half: func(f *httpfilter.Filter) func(httpfilter.Host) (httpfilter.ServerInstance, error) {
					return f.NewServer
				},
				run: func(c *choice[httpfilter.ServerInterceptor]) httpfilter.ServerInterceptor {
					c.report(&h)
					return serverChoice{c}
				},
			}, nil
		},
		NewClient: func(h httpfilter.Host) (httpfilter.ClientInstance, error) {
			return &composed[httpfilter.ClientInstance, httpfilter.ClientInterceptor]{
				host: h,
				half: func(f *httpfilter.Filter) func(httpfilter.Host) (httpfilter.ClientInstance, error) {
					return f.NewClient
				},
				run: func(c *choice[httpfilter.ClientInterceptor]) httpfilter.ClientInterceptor {
					return clientChoice{c, &h}
				},
			}, nil
		},
	}
}

// A composed is the instance of a composite filter. It has the instances of the filters of its actions.
type composed[I filterlist.Instance[C], C any] struct {
	host   httpfilter.Host
	holder filters.Holder[I]
	// half returns the function of a filter that creates instances for the side, or nil.
	half func(*httpfilter.Filter) func(httpfilter.Host) (I, error)
	// run returns the interceptor that chooses.
	run func(*choice[C]) C
}

// Interceptor implements [httpfilter.ServerInstance] and [httpfilter.ClientInstance]. An override replaces the matcher.
func (f *composed[I, C]) Interceptor(u httpfilter.Use) (none C, err error) {
	source := u.Config
	if u.Override != nil {
		source = u.Override
	}
	config, err := read[composite.Config](source)
	switch {
	case err != nil:
		return none, err
	case config.Unread:
		return none, errUnread
	case config.Matcher == nil:
		return none, nil
	}
	set := f.holder.Begin()
	c := &choice[C]{tree: config.Matcher, actions: make([]action[C], len(config.Actions)), end: set.Release}
	for i := range config.Actions {
		c.actions[i] = f.action(set, &config.Actions[i], u.Scope)
	}
	return f.run(c), nil
}

var errUnread = errors.New("the matcher was not decoded; must be in the field xds_matcher, and not in profile Envoy")

// Close implements [httpfilter.ServerInstance] and [httpfilter.ClientInstance]. The interceptors have closed the instances.
func (*composed[I, C]) Close() {}

// action returns the running action. Its requests fail if a filter cannot run (A103).
func (f *composed[I, C]) action(set *filters.Set[I], a *composite.Action, scope string) action[C] {
	out := action[C]{perMillion: a.PerMillion}
	earlier := make(map[entry]int)
	for _, n := range a.Filters {
		e := entry{n.Name, n.Message}
		i, err := f.interceptor(set, place{a.Place, earlier[e]}, n, scope)
		if err != nil {
			out.run, out.err = nil, fmt.Errorf("composite: HTTP filter %s: %w", printable.Quote(n.Name, printable.Short), printable.Error(err))
			break
		}
		if any(i) != nil {
			out.run = append(out.run, i)
		}
		earlier[e]++
	}
	return out
}

// An entry is the name of a filter and the message of its configuration.
type entry struct{ name, message string }

// A place identifies a filter of an action across updates, among those with the same name and message.
type place struct {
	action  string
	earlier int // the filters of the action with that name and message before this one
}

var errSide = errors.New("the filter does not run on this side (A103)")

// interceptor returns the interceptor of a filter at a place.
func (f *composed[I, C]) interceptor(set *filters.Set[I], at place, n composite.Nested, scope string) (i C, err error) {
	create := f.create(n)
	if create == nil {
		return i, errSide
	}
	instance, err := set.Instance(filters.Key{Chain: at, Name: n.Name, Message: n.Message}, create)
	if err != nil {
		return i, err
	}
	if i, err = instance.Interceptor(httpfilter.Use{Config: n.Config, Scope: scope}); err != nil {
		return i, err
	}
	if closer, ok := any(i).(io.Closer); ok {
		set.OnEnd(func() { _ = closer.Close() }) // the filter reports its own errors
	}
	return i, nil
}

// create returns the function that creates the instance of a filter, or nil if the filter does not run on this side.
func (f *composed[I, C]) create(n composite.Nested) func() (I, error) {
	if f.host.Filter == nil {
		return nil
	}
	inner := f.host.Filter(n.Message)
	if inner == nil || f.half(inner) == nil {
		return nil
	}
	host := f.host
	host.Name = n.Name
	return func() (I, error) { return f.half(inner)(host) }
}
