package resource

import (
	"context"
	"fmt"
	"iter"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Client is the argument through which resources are watched and looked up: a
// *xdsforge.Client, or a fake of package xdstest. Only this module implements it, so that it
// can grow.
type Client interface{ source() Source }

// A Base makes the struct that embeds it a [Client]. It is for this module.
type Base struct{ s Source }

// NewBase returns the Base of a source.
func NewBase(s Source) Base { return Base{s} }

func (b Base) source() Source { return b.s }

// sourceOf returns the source of a client; nil for a nil or zero Client.
func sourceOf(c Client) Source {
	if c == nil {
		return nil
	}
	return c.source()
}

// Find returns the handle of a type that is registered with the client, by the full name of its
// message. The message may also be that of the list collections of a type (TP1).
func Find(c Client, message string) (TypeOf[Update], error) {
	s := sourceOf(c)
	if s == nil {
		return TypeOf[Update]{}, errNoClient
	}
	d, ok := s.Types().Lookup(message)
	if lists, has := s.(interface {
		ListType(message string) (*Descriptor, bool)
	}); has && !ok {
		d, ok = lists.ListType(message)
	}
	if !ok {
		return TypeOf[Update]{}, fmt.Errorf("resource: %w %s; register its plugin", ErrUnknownType, message)
	}
	return d.Handle(), nil
}

// A Source is the part of a client that typed handles use. Only this module implements it; it
// may gain methods in any release. All methods are safe for concurrent use.
type Source interface {
	// ParseName parses s by this client's rules. With federation switched off (gRFC A47), every
	// name is an old-style one.
	ParseName(s string) (xdstp.Name, error)

	// Subscribe calls f, never concurrently with itself, with the newest state of the
	// resource and the previous one until stop is called. States in between may be missed.
	// No call starts after stop has returned or the client is closed. A call in progress may
	// still be in its first steps, unless f itself called stop. An error means that there is
	// no subscription: the name is malformed or of another type, its authority is unknown,
	// the type is not registered, or the client is closed.
	Subscribe(t *Descriptor, name string, f func(next, last State)) (stop func(), err error)

	// SubscribeAsync is Subscribe for a function that is not done with a state when it returns. The
	// function must call done, from any goroutine, when it is.
	SubscribeAsync(t *Descriptor, name string, f func(next, last State, done func())) (stop func(), err error)

	// Observe subscribes as Subscribe does, but the caller polls for the newest state.
	Observe(t *Descriptor, name string) (Observation, error)

	// ObserveCollection subscribes to the [Wildcard], to a glob collection or to a list collection.
	// It returns the errors of Subscribe, or an error if the type has no such collections.
	ObserveCollection(t *Descriptor, name string) (CollectionObservation, error)

	// Shard returns the cache of the type for the authority of name. It is nil if the client has no
	// such type or authority.
	Shard(t *Descriptor, name xdstp.Name) Shard

	// Shards yields the caches of all authorities for a type.
	Shards(t *Descriptor) iter.Seq[Shard]

	// Types returns the types that the client was created with.
	Types() *Set
}

// An Observation is a subscription whose owner polls for states.
type Observation interface {
	// Next waits for a state that it has not returned yet, and returns the newest one. It skips
	// states in between. It returns ctx's error, or ErrClosed if the client was closed or Stop was
	// called. Only one Next may run at a time.
	Next(ctx context.Context) (State, error)
	// Stop ends the subscription. It may be called more than once.
	Stop()
}
