package composite

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/printable"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
)

// An instance creates the interceptors of a filter.
type instance[I any] interface {
	filters.Instance
	Interceptor(config, override any) (I, error)
}

// before is an interceptor that sees no messages.
type before[C any] interface {
	~func(context.Context, C) (context.Context, error)
}

// A builder creates the interceptors of actions. Those of type B see no messages.
type builder[I any, B before[C], C any, N instance[I]] struct {
	set *filters.Set[N]
	// create returns the function that creates an instance, or nil if the filter does not run on this side.
	create func(config.Nested) func() (N, error)
	// plain reports that no interceptor sees messages, and that there is nothing to close.
	plain bool
}

// all returns the running actions. It reports errors as those of the calls (A103).
func (b *builder[I, B, C, N]) all(actions []config.Action) []action[I] {
	b.plain = true
	out := make([]action[I], len(actions))
	for k := range actions {
		a := &actions[k]
		out[k].perMillion = a.PerMillion
		for _, n := range a.Filters {
			i, err := b.one(a.Place, n)
			if err != nil {
				out[k].run = nil
				out[k].err = status.Errorf(codes.Unavailable, "composite: HTTP filter %s: %v", printable.Quote(n.Name, printable.Short), printable.Error(err))
				break
			}
			if f, plain := any(i).(B); any(i) != nil && (!plain || f != nil) {
				out[k].run = append(out[k].run, i)
				b.plain = b.plain && plain
			}
		}
	}
	return out
}

var errSide = errors.New("the filter does not run on this side (A103)")

// one returns the interceptor of a filter of the action at a place.
func (b *builder[I, B, C, N]) one(place string, n config.Nested) (i I, err error) {
	create := b.create(n)
	if create == nil {
		return i, errSide
	}
	in, err := b.set.Instance(filters.Key{Chain: place, Name: n.Name, Message: n.Message}, create)
	if err != nil {
		return i, err
	}
	b.plain = b.plain && filterchain.Stateless(in)
	if i, err = in.Interceptor(n.Config, nil); err != nil {
		return i, err
	}
	if end := filterchain.Closer(i); end != nil {
		b.set.OnEnd(end)
		b.plain = false
	}
	return i, nil
}

// lookup returns the filter that runs with a configuration, or nil.
func lookup(h *httpfilter.Host, message string) *httpfilter.Filter {
	if h.Filter == nil {
		return nil
	}
	return h.Filter(message)
}
