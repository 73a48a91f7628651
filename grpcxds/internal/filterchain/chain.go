// Package filterchain makes chains of interceptors from a configuration's HTTP filters (gRFC A39).
//
// A [Registry] has the known filters, and creates a chain for a list of filters. [Chain.Override] derives a chain for
// a virtual host, from that a chain for a route, and from that a chain for a weighted cluster. A level without
// overrides uses the same chain. All chains are created when a configuration is received. A call passes the chain of
// its route, even if the route has no usable action. Such a call fails after the filters (gRFC A36).
package filterchain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Registry has the filters that run. It is immutable.
type Registry struct {
	filters map[string]httpfilter.Filter // keyed by the message of the configuration
}

// New creates a Registry. It returns an error if two filters read the same message, or if a filter lacks the half for one
// of its sides. It reports all errors.
func New(filters []httpfilter.Filter) (*Registry, error) {
	r := &Registry{filters: make(map[string]httpfilter.Filter, len(filters))}
	var errs []error
	for _, f := range filters {
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
	case f.Sides&resource.ServerSide != 0 && f.Server == nil:
		return fmt.Errorf("filterchain: Filter.Server of %s is nil; must be set if Sides includes ServerSide", f.Config)
	case f.Sides&resource.ClientSide != 0 && f.Client == nil:
		return fmt.Errorf("filterchain: Filter.Client of %s is nil; must be set if Sides includes ClientSide", f.Config)
	}
	return nil
}

// Server creates the chain of a server's list of filters. The error names a filter that cannot run. Calls must fail
// then.
func (r *Registry) Server(list []listener.HTTPFilter) (*ServerChain, error) {
	return build[httpfilter.ServerInterceptor, *httpfilter.ServerCall](r, list, "server", func(f httpfilter.Filter) maker[httpfilter.ServerInterceptor] { return f.Server })
}

// Client creates the chain of a client's list of filters. The error names a filter that cannot run. Calls must fail
// then.
func (r *Registry) Client(list []listener.HTTPFilter) (*ClientChain, error) {
	return build[httpfilter.ClientInterceptor, *httpfilter.ClientCall](r, list, "client", func(f httpfilter.Filter) maker[httpfilter.ClientInterceptor] { return f.Client })
}

// build makes a chain without overrides. It leaves out skipped filters and ends at the
// terminal filter. A disabled filter has no interceptor.
func build[I interceptor[C], C any](r *Registry, list []listener.HTTPFilter, side string, half func(httpfilter.Filter) maker[I]) (*Chain[I, C], error) {
	var links []link[I]
	for _, l := range list {
		if l.Skipped != "" {
			continue
		}
		f, known := r.filters[l.Message]
		if f.HTTPFilter != nil && f.Terminal {
			break
		}
		if !known || half(f) == nil {
			return nil, fmt.Errorf("filterchain: HTTP filter %s: %s cannot run on a %s",
				printable.Quote(l.Name, printable.Short), printable.Text(l.Message, printable.Short), side)
		}
		links = append(links, link[I]{name: l.Name, filter: f.HTTPFilter, config: l.Config, create: half(f)})
		if l.Disabled { // only an override can enable it
			continue
		}
		if err := links[len(links)-1].prepare(nil); err != nil {
			return nil, err
		}
	}
	return newChain[I, C](links), nil
}

// A Chain has the filters of a list and their interceptors, for calls of type C. It is immutable, and itself an
// interceptor. A nil Chain lets every call pass.
type Chain[I interceptor[C], C any] struct {
	links []link[I]
	run   []interceptor[C] // the interceptors that are not nil
}

type (
	// A ServerChain has the filters for a server's calls.
	ServerChain = Chain[httpfilter.ServerInterceptor, *httpfilter.ServerCall]
	// A ClientChain has the filters for a client's calls.
	ClientChain = Chain[httpfilter.ClientInterceptor, *httpfilter.ClientCall]
)

var (
	_ httpfilter.ServerInterceptor = (*ServerChain)(nil)
	_ httpfilter.ClientInterceptor = (*ClientChain)(nil)
)

// An interceptor is an interceptor of either side.
type interceptor[C any] interface {
	Intercept(ctx context.Context, call C) (context.Context, error)
}

// A maker creates the interceptor for a configuration.
type maker[I any] func(config, override any) (I, error)

// A link is a filter of a list.
type link[I any] struct {
	name        string
	filter      *resource.HTTPFilter
	config      any
	create      maker[I]
	interceptor I
}

func newChain[I interceptor[C], C any](links []link[I]) *Chain[I, C] {
	c := &Chain[I, C]{links: links, run: make([]interceptor[C], 0, len(links))}
	for _, l := range links {
		if any(l.interceptor) != nil {
			c.run = append(c.run, l.interceptor)
		}
	}
	return c
}

// Override derives a chain for a more specific level: a virtual host, a route of it, or a weighted cluster of the
// route. It ignores overrides for filters that are not in the list (A39). It returns c itself if no override applies.
// The error names an unusable override. Calls must fail then.
func (c *Chain[I, C]) Override(overrides map[string]route.FilterOverride) (*Chain[I, C], error) {
	if c == nil || !c.overridden(overrides) {
		return c, nil
	}
	links := slices.Clone(c.links)
	for i := range links {
		if o, ok := overrides[links[i].name]; ok {
			if err := links[i].prepare(&o); err != nil {
				return nil, err
			}
		}
	}
	return newChain[I, C](links), nil
}

// overridden reports whether there is an override for one of the filters.
func (c *Chain[I, C]) overridden(overrides map[string]route.FilterOverride) bool {
	return len(overrides) > 0 && slices.ContainsFunc(c.links, func(l link[I]) bool {
		_, ok := overrides[l.name]
		return ok
	})
}

// Idle reports whether the chain has no interceptors.
func (c *Chain[I, C]) Idle() bool { return c == nil || len(c.run) == 0 }

// Intercept runs the filters in order, until one ends the call. All errors are gRPC statuses, or
// [httpfilter.ErrEnd] on the client's side. The caller must call call.Done at the end, whatever Intercept returns.
// Intercept itself does not allocate.
func (c *Chain[I, C]) Intercept(ctx context.Context, call C) (context.Context, error) {
	if c == nil {
		return ctx, nil
	}
	for _, i := range c.run {
		var err error
		if ctx, err = i.Intercept(ctx, call); err != nil {
			return ctx, statusOf(err)
		}
	}
	return ctx, nil
}

// statusOf converts an error to a gRPC status, unless it is one.
func statusOf(err error) error {
	if _, ok := status.FromError(err); ok || errors.Is(err, httpfilter.ErrEnd) {
		return err
	}
	return status.FromContextError(err).Err()
}

// prepare makes the interceptor, with an override unless o is nil. A disabled override removes the interceptor, so
// that calls skip the filter.
func (l *link[I]) prepare(o *route.FilterOverride) error {
	if o != nil && o.Disabled {
		var none I
		l.interceptor = none
		return nil
	}
	var config any
	if o != nil {
		if l.filter.Override != o.Message {
			return fmt.Errorf("filterchain: HTTP filter %s: an override is a %s; must be one of %s (A39)",
				printable.Quote(l.name, printable.Short), printable.Text(o.Message, printable.Short), l.filter.Config)
		}
		config = o.Config
	}
	i, err := l.create(l.config, config)
	if err != nil {
		return fmt.Errorf("filterchain: HTTP filter %s: %w", printable.Quote(l.name, printable.Short), printable.Error(err))
	}
	l.interceptor = i
	return nil
}
