package filterchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Chain has the filters of a list and their interceptors of type I. Those of type B see no messages of calls of
// type C. It is immutable. A nil Chain lets every call pass.
type Chain[I any, B before[C], C any] struct {
	links  []link[I]
	run    []I // the interceptors that are not nil
	before []B // the same, if no interceptor sees messages
	set    lifetime
	counts bool // calls must acquire the set, because a filter has something to close
}

type (
	// A ServerChain has the filters for a server's calls.
	ServerChain = Chain[httpfilter.ServerInterceptor, httpfilter.ServerBefore, *httpfilter.ServerCall]
	// A ClientChain has the filters for a client's calls.
	ClientChain = Chain[httpfilter.ClientInterceptor, httpfilter.ClientBefore, *httpfilter.ClientCall]
)

// before is an interceptor that sees no messages.
type before[C any] interface {
	~func(context.Context, C) (context.Context, error)
}

// A lifetime is the part of a set that its chains need.
type lifetime interface {
	Acquire() bool
	Release()
	OnEnd(func())
}

// An instance creates the interceptors of a filter.
type instance[I any] interface {
	filters.Instance
	Interceptor(config, override any) (I, error)
}

// A link is a filter of a list.
type link[I any] struct {
	name   string
	filter *resource.HTTPFilter
	config any
	// instance returns the instance of all chains. The first call takes it from the set.
	instance    func() (instance[I], error)
	interceptor I
	counts      bool // the instance or the interceptor has something to close
}

func newChain[I any, B before[C], C any](links []link[I], set lifetime) *Chain[I, B, C] {
	c := &Chain[I, B, C]{links: links, set: set, run: make([]I, 0, len(links))}
	for _, l := range links {
		b, plain := any(l.interceptor).(B)
		if any(l.interceptor) == nil || plain && b == nil {
			continue
		}
		c.run = append(c.run, l.interceptor)
		c.counts = c.counts || l.counts
		if plain {
			c.before = append(c.before, b)
		}
	}
	if len(c.before) < len(c.run) {
		c.before = nil
	}
	return c
}

// Override derives a chain for a more specific level: a virtual host, a route of it, or a weighted cluster of the
// route. It ignores overrides for filters that are not in the list (A39). It returns c itself if no override applies.
// The error names an unusable override. Calls must fail then.
func (c *Chain[I, B, C]) Override(overrides map[string]route.FilterOverride) (*Chain[I, B, C], error) {
	if c == nil || !c.overridden(overrides) {
		return c, nil
	}
	links := slices.Clone(c.links)
	for i := range links {
		if o, ok := overrides[links[i].name]; ok {
			if err := links[i].prepare(&o, c.set); err != nil {
				return nil, err
			}
		}
	}
	return newChain[I, B, C](links, c.set), nil
}

// overridden reports whether there is an override for one of the filters.
func (c *Chain[I, B, C]) overridden(overrides map[string]route.FilterOverride) bool {
	return len(overrides) > 0 && slices.ContainsFunc(c.links, func(l link[I]) bool {
		_, ok := overrides[l.name]
		return ok
	})
}

// Idle reports whether the chain has no interceptors.
func (c *Chain[I, B, C]) Idle() bool { return c == nil || len(c.run) == 0 }

// Messages reports whether an interceptor sees messages. Calls must pass Interceptors then, and Intercept otherwise.
func (c *Chain[I, B, C]) Messages() bool { return c != nil && len(c.before) < len(c.run) }

// Interceptors returns the interceptors in the order of the list. The caller must not change it.
func (c *Chain[I, B, C]) Interceptors() []I { return c.run }

// Acquire keeps the filters open for a call, until Release. It returns false if another configuration is in use.
func (c *Chain[I, B, C]) Acquire() bool { return c == nil || !c.counts || c.set.Acquire() }

// Release reverses one Acquire that returned true.
func (c *Chain[I, B, C]) Release() {
	if c != nil && c.counts {
		c.set.Release()
	}
}

// Intercept runs the filters in order, until one ends the call. All errors are gRPC statuses, or
// [httpfilter.ErrEnd] on the client's side. The caller must call call.Done at the end, whatever Intercept returns.
// Intercept itself does not allocate.
func (c *Chain[I, B, C]) Intercept(ctx context.Context, call C) (context.Context, error) {
	if c == nil {
		return ctx, nil
	}
	if c.Messages() {
		return ctx, errMessages
	}
	for _, f := range c.before {
		var err error
		if ctx, err = f(ctx, call); err != nil {
			return ctx, StatusOf(err)
		}
	}
	return ctx, nil
}

// errMessages keeps a caller from skipping filters.
var errMessages = status.Error(codes.Internal, "filterchain: a filter of the call sees messages; want a stream")

// StatusOf converts the error of a filter to a gRPC status, unless it is one or [httpfilter.ErrEnd].
func StatusOf(err error) error {
	if _, ok := status.FromError(err); ok || errors.Is(err, httpfilter.ErrEnd) {
		return err
	}
	return status.FromContextError(err).Err()
}

// prepare creates the interceptor, with an override unless o is nil. A disabled override removes the interceptor, so
// that calls skip the filter.
func (l *link[I]) prepare(o *route.FilterOverride, set lifetime) error {
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
	if err := l.create(config, set); err != nil {
		return fmt.Errorf("filterchain: HTTP filter %s: %w", printable.Quote(l.name, printable.Short), printable.Error(err))
	}
	return nil
}

// create creates the interceptor with the configuration of an override, or nil.
func (l *link[I]) create(override any, set lifetime) error {
	in, err := l.instance()
	if err != nil {
		return err
	}
	i, err := in.Interceptor(l.config, override)
	if err != nil {
		return err
	}
	l.interceptor, l.counts = i, !Stateless(in)
	if end := Closer(i); end != nil {
		set.OnEnd(end)
		l.counts = true
	}
	return nil
}

// Stateless reports whether an instance is only a function.
func Stateless(instance any) bool {
	s, ok := instance.(interface{ Stateless() bool })
	return ok && s.Stateless()
}

// Closer returns the function that closes an interceptor, or nil if there is nothing to close.
func Closer(interceptor any) func() {
	switch c := interceptor.(type) {
	case io.Closer:
		return func() { _ = c.Close() }
	case interface{ Close() }:
		return c.Close
	}
	return nil
}
