package resource

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Watch yields every newest state of a resource: (update, nil) when it changed,
// (nil, err) when there is no usable resource, (update, err) for an ambient
// error beside a resource that stays valid. It ends with ctx, with the client's
// Close, or after yielding the error of a call that could not subscribe.
func Watch[U Update](ctx context.Context, c Source, t *Descriptor, name string) iter.Seq2[U, error] {
	return func(yield func(U, error) bool) {
		o, err := c.Observe(t, name)
		if err != nil {
			var none U
			yield(none, err)
			return
		}
		defer o.Stop()
		for {
			s, err := o.Next(ctx)
			if err != nil {
				return
			}
			u, _ := s.Update.(U)
			if !yield(u, s.Err) {
				return
			}
		}
	}
}

// WatchRef is [Watch] for a resource of any registered type.
func WatchRef(ctx context.Context, c Source, r Ref) iter.Seq2[Update, error] {
	t, ok := c.Types().Lookup(r.Type)
	if !ok {
		return func(yield func(Update, error) bool) {
			yield(nil, fmt.Errorf("resource: %w %s; register its plugin", ErrUnknownType, r.Type))
		}
	}
	return Watch[Update](ctx, c, t, r.Name.String())
}

// Subscribe calls w with every newest state of a resource until cancel.
func Subscribe[U Update](c Source, t *Descriptor, name string, w Watcher[U]) (cancel func(), err error) {
	if w == nil {
		return nil, errors.New("resource: the watcher is nil")
	}
	tell := func(next, last State) {
		changed := next.Update != nil && differ(c.Shard(t, next.Update.Name()), last.Update, next.Update)
		switch {
		case next.Update == nil:
			w.Failed(next.Err)
			return
		case changed || last.Update == nil:
			w.Changed(next.Update.(U))
		}
		if next.Err != nil && (changed || next.Err != last.Err) || !changed && last.Err != nil && next.Err == nil {
			w.Ambient(next.Err)
		}
	}
	h, ok := w.(Holder)
	if !ok {
		return c.Subscribe(t, name, tell)
	}
	return c.SubscribeAsync(t, name, func(next, last State, done func()) {
		h.Hold(done)
		tell(next, last)
	})
}

// Get waits for the first state of a resource and returns it: the update, even
// when an ambient error stands beside it, or the reason why there is none. It
// subscribes only while it waits.
func Get[U Update](ctx context.Context, c Source, t *Descriptor, name string) (U, error) {
	var none U
	o, err := c.Observe(t, name)
	if err != nil {
		return none, err
	}
	defer o.Stop()
	s, err := o.Next(ctx)
	if err != nil {
		return none, fmt.Errorf("resource: %s %q: %w", t.ShortName(), name, err)
	}
	if u, ok := s.Update.(U); ok {
		return u, nil
	}
	return none, s.Err
}

// Lookup returns what is cached under a name now. It takes no lock, allocates
// nothing and subscribes to nothing: only what somebody watches is cached.
func Lookup[U Update](c Source, t *Descriptor, name xdstp.Name) (U, bool) {
	var none U
	s := c.Shard(t, name)
	if s == nil {
		return none, false
	}
	u, ok := s.Load(name)
	if !ok {
		return none, false
	}
	return u.(U), true
}

// LookupString is [Lookup] by a name that is still to be parsed. A name that
// cannot be parsed is not cached.
func LookupString[U Update](c Source, t *Descriptor, name string) (U, bool) {
	n, err := c.ParseName(name)
	if err != nil {
		var none U
		return none, false
	}
	return Lookup[U](c, t, n)
}

// All yields the cached updates of a type, of all authorities.
func All[U Update](c Source, t *Descriptor) iter.Seq[U] {
	return func(yield func(U) bool) {
		for s := range c.Shards(t) {
			for u := range s.All() {
				if !yield(u.(U)) {
					return
				}
			}
		}
	}
}

// Referring yields the cached updates of a type that refer to r.
func Referring[U Update](c Source, t *Descriptor, r Ref) iter.Seq[U] {
	return func(yield func(U) bool) {
		for s := range c.Shards(t) {
			for u := range s.Referrers(r) {
				if !yield(u.(U)) {
					return
				}
			}
		}
	}
}
