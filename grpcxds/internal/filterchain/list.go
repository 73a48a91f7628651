package filterchain

import (
	"fmt"
	"io"
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A List has the filters of a Listener, with the overrides of a level. It owns nothing: only [List.Chain] creates
// instances and interceptors. So those of a filter exist only if calls can reach it. One goroutine uses a List. A nil List
// has no filters.
type List[I any, B before[C], C any] struct {
	links []link[I]
	set   lifetime
	chain *Chain[I, B, C]
	err   error // why there is no chain
}

type (
	// A ServerList has the filters of a server's filter chain.
	ServerList = List[httpfilter.ServerInterceptor, httpfilter.ServerBefore, *httpfilter.ServerCall]
	// A ClientList has the filters of a channel.
	ClientList = List[httpfilter.ClientInterceptor, httpfilter.ClientBefore, *httpfilter.ClientCall]
)

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
	// instance returns the instance of all lists. The first call takes it from the set.
	instance func() (instance[I], error)
	use      *use[I] // nil: the filter is disabled
}

// A use is a filter with the override of a level. The lists of more specific levels share it, unless they override it.
type use[I any] struct {
	override    any
	opened      bool
	interceptor I
	err         error
	counts      bool // the instance or the interceptor has something to close
}

// Override derives the list of a more specific level: a virtual host, a route of it, or a weighted cluster of the route.
// It ignores overrides for filters that are not in the list (A39). It returns l itself if no override applies. The error
// names an unusable override. Calls must fail then.
func (l *List[I, B, C]) Override(overrides map[string]route.FilterOverride) (*List[I, B, C], error) {
	if l == nil || !l.overridden(overrides) {
		return l, nil
	}
	out := &List[I, B, C]{links: slices.Clone(l.links), set: l.set}
	for i := range out.links {
		if o, ok := overrides[out.links[i].name]; ok {
			if err := out.links[i].apply(&o); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// overridden reports whether there is an override for one of the filters.
func (l *List[I, B, C]) overridden(overrides map[string]route.FilterOverride) bool {
	return len(overrides) > 0 && slices.ContainsFunc(l.links, func(l link[I]) bool {
		_, ok := overrides[l.name]
		return ok
	})
}

// Chain returns the chain of the list for calls, which is the same each time. The error names a filter that cannot run.
// Calls must fail then.
func (l *List[I, B, C]) Chain() (*Chain[I, B, C], error) {
	if l == nil {
		return nil, nil //nolint:nilnil // lets every call pass
	}
	if l.chain == nil && l.err == nil {
		l.chain, l.err = newChain[I, B, C](l.links, l.set)
	}
	return l.chain, l.err
}

// apply applies an override. A disabled one makes calls skip the filter.
func (l *link[I]) apply(o *route.FilterOverride) error {
	switch {
	case o.Disabled:
		l.use = nil
		return nil
	case l.filter.Override != o.Message:
		return fmt.Errorf("filterchain: HTTP filter %s: an override is a %s; must be one of %s (A39)",
			printable.Quote(l.name, printable.Short), printable.Text(o.Message, printable.Short), l.filter.Config)
	}
	l.use = &use[I]{override: o.Config}
	return nil
}

// open creates the interceptor once.
func (l *link[I]) open(set lifetime) {
	u := l.use
	if u.opened {
		return
	}
	u.opened = true
	var in instance[I]
	if in, u.err = l.instance(); u.err != nil {
		return
	}
	if u.interceptor, u.err = in.Interceptor(l.config, u.override); u.err != nil {
		return
	}
	u.counts = !Stateless(in)
	if end := Closer(u.interceptor); end != nil {
		set.OnEnd(end)
		u.counts = true
	}
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
