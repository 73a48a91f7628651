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
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A ServerChain has the filters for a server's calls. It is immutable, and itself an interceptor. A nil ServerChain
// lets every call pass.
type ServerChain struct {
	chain[httpfilter.ServerInterceptor]
}

// A ClientChain has the filters for a client's calls. It is immutable, and itself an interceptor. A nil ClientChain
// lets every call pass.
type ClientChain struct {
	chain[httpfilter.ClientInterceptor]
}

var (
	_ httpfilter.ServerInterceptor = (*ServerChain)(nil)
	_ httpfilter.ClientInterceptor = (*ClientChain)(nil)
)

// Override derives a chain for a more specific level: a virtual host, or a route of the chain's virtual host. It
// ignores overrides for filters that are not in the list (A39). It returns c itself if no override applies. The error
// names an unusable override. Calls must fail then.
func (c *ServerChain) Override(overrides map[string]route.FilterOverride) (*ServerChain, error) {
	if c == nil || !c.overridden(overrides) {
		return c, nil
	}
	o, err := c.override(overrides)
	if err != nil {
		return nil, err
	}
	return &ServerChain{o}, nil
}

// Override derives a chain for a more specific level: a virtual host, a route of it, or a weighted cluster of the
// route. It ignores overrides for filters that are not in the list (A39). It returns c itself if no override applies.
// The error names an unusable override. Calls must fail then.
func (c *ClientChain) Override(overrides map[string]route.FilterOverride) (*ClientChain, error) {
	if c == nil || !c.overridden(overrides) {
		return c, nil
	}
	o, err := c.override(overrides)
	if err != nil {
		return nil, err
	}
	return &ClientChain{o}, nil
}

// Idle reports whether the chain has no interceptors.
func (c *ServerChain) Idle() bool { return c == nil || len(c.run) == 0 }

// Idle reports whether the chain has no interceptors.
func (c *ClientChain) Idle() bool { return c == nil || len(c.run) == 0 }

// Intercept runs the filters in order, until one ends the call. All errors are gRPC statuses. The caller must call
// call.Done at the end, whatever Intercept returns. Intercept itself does not allocate.
func (c *ServerChain) Intercept(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
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

// Intercept runs the filters in order, until one ends the call. All errors are gRPC statuses or [httpfilter.ErrEnd].
// The caller must call call.Done at the end, whatever Intercept returns. Intercept itself does not allocate.
func (c *ClientChain) Intercept(ctx context.Context, call *httpfilter.ClientCall) (context.Context, error) {
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

// A maker makes the interceptor for a configuration.
type maker[I any] func(config, override any) (I, error)

// A chain has the filters of a list and their interceptors.
type chain[I any] struct {
	links []link[I]
	run   []I // the interceptors that are not nil
}

// A link is a filter of a list.
type link[I any] struct {
	name        string
	filter      *resource.HTTPFilter
	config      any
	make        maker[I]
	interceptor I
}

func newChain[I any](links []link[I]) chain[I] {
	c := chain[I]{links: links, run: make([]I, 0, len(links))}
	for _, l := range links {
		if any(l.interceptor) != nil {
			c.run = append(c.run, l.interceptor)
		}
	}
	return c
}

// overridden reports whether there is an override for one of the filters.
func (c *chain[I]) overridden(overrides map[string]route.FilterOverride) bool {
	return len(overrides) > 0 && slices.ContainsFunc(c.links, func(l link[I]) bool {
		_, ok := overrides[l.name]
		return ok
	})
}

func (c *chain[I]) override(overrides map[string]route.FilterOverride) (chain[I], error) {
	links := slices.Clone(c.links)
	for i := range links {
		if o, ok := overrides[links[i].name]; ok {
			if err := links[i].prepare(&o); err != nil {
				return chain[I]{}, err
			}
		}
	}
	return newChain(links), nil
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
	i, err := l.make(l.config, config)
	if err != nil {
		return fmt.Errorf("filterchain: HTTP filter %s: %w", printable.Quote(l.name, printable.Short), printable.Error(err))
	}
	l.interceptor = i
	return nil
}
