package resource

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Watch yields an event for each change of a resource; see [Event]. A slow reader misses
// states in between, never the newest. The sequence ends when ctx ends. It also ends after an
// event with an error of misuse (the name is malformed, the type is not registered) and after
// one with [ErrClosed].
func (t TypeOf[U]) Watch(ctx context.Context, c Client, name string) iter.Seq[Event[U]] {
	return func(yield func(Event[U]) bool) {
		src, err := t.from(c)
		if err != nil {
			yield(Event[U]{Err: err})
			return
		}
		o, err := observe(ctx, src, t.d, name)
		if err != nil {
			yield(Event[U]{Err: err})
			return
		}
		defer o.Stop()
		var last Update
		for {
			s, err := o.Next(ctx)
			if err != nil {
				if ctx.Err() == nil {
					yield(Event[U]{Err: err, Changed: last != nil})
				}
				return
			}
			if !yield(t.event(src, s, last)) {
				return
			}
			last = s.Update
		}
	}
}

// observe subscribes. A source that traces makes the span of the subscription a child of the one in ctx.
func observe(ctx context.Context, src Source, d *Descriptor, name string) (Observation, error) {
	if s, ok := src.(interface {
		ObserveIn(ctx context.Context, d *Descriptor, name string) (Observation, error)
	}); ok {
		return s.ObserveIn(ctx, d, name)
	}
	return src.Observe(d, name)
}

// WatchCollection yields an event for each change of a member of a collection: "*", a glob
// collection (".../*"), or a list collection, which is named by the type's collection message
// (TP1). The first events are those of the members that exist. An event with the zero Name
// concerns the collection as a whole. The sequence ends as that of Watch does.
func (t TypeOf[U]) WatchCollection(ctx context.Context, c Client, name string) iter.Seq[MemberEvent[U]] {
	return func(yield func(MemberEvent[U]) bool) {
		src, err := t.from(c)
		if err != nil {
			yield(MemberEvent[U]{Event: Event[U]{Err: err}})
			return
		}
		o, err := src.ObserveCollection(t.d, name)
		if err != nil {
			yield(MemberEvent[U]{Event: Event[U]{Err: err}})
			return
		}
		defer o.Stop()
		synced := false
		for {
			s, err := o.Next(ctx)
			if err != nil {
				if ctx.Err() == nil {
					yield(MemberEvent[U]{Event: Event[U]{Err: err}, Synced: synced})
				}
				return
			}
			if !t.members(src, s, synced, yield) {
				return
			}
			synced = synced || s.Synced
		}
	}
}

// members yields the events of a collection's state.
func (t TypeOf[U]) members(src Source, s CollectionState, synced bool, yield func(MemberEvent[U]) bool) bool {
	done := synced || s.Synced && len(s.Members) == 0
	if s.Err != nil || s.Ambient != nil || done != synced {
		whole := Event[U]{Err: s.Err, Ambient: s.Ambient}
		if !yield(MemberEvent[U]{Event: whole, Synced: done}) {
			return false
		}
	}
	for i, m := range s.Members {
		done = synced || s.Synced && i == len(s.Members)-1
		if !yield(MemberEvent[U]{Name: m.Name, Event: t.event(src, m.State, m.Last), Synced: done}) {
			return false
		}
	}
	return true
}

// event returns the event of a state that follows one with the update last.
func (t TypeOf[U]) event(src Source, s State, last Update) Event[U] {
	if s.Update == nil {
		return Event[U]{Err: s.Err, Changed: last != nil}
	}
	u, ok := t.Cast(s.Update)
	if !ok {
		return Event[U]{Err: fmt.Errorf("resource: the client has a %T for the type %s", s.Update, t.Name())}
	}
	return Event[U]{Update: u, Ambient: s.Err, Changed: t.differ(src, last, s.Update), Origin: s.Origin}
}

// differ reports whether next differs from the update before it. The client decodes equal bytes of
// the same server only once, so only updates of different servers have to be compared.
func (t TypeOf[U]) differ(src Source, last, next Update) bool {
	if last == next || last == nil || last.Server() == next.Server() {
		return last != next
	}
	e, ok := src.Shard(t.d, next.Name()).(interface{ Equal(a, b Update) bool })
	return !ok || !e.Equal(last, next)
}

var errNoFunction = errors.New("resource: the function is nil")

// Subscribe calls f, never concurrently with itself, for each change of a resource until stop
// is called; see [Event]. A slow f misses states in between, never the newest. It may block and
// may start and stop subscriptions. A panic in f ends the program. There is no event for the
// end of the client. An error means that there is no subscription.
func (t TypeOf[U]) Subscribe(c Client, name string, f func(Event[U])) (stop func(), err error) {
	src, err := t.from(c)
	if err == nil && f == nil {
		err = errNoFunction
	}
	if err != nil {
		return nil, err
	}
	return src.Subscribe(t.d, name, func(next, last State) { f(t.event(src, next, last.Update)) })
}

// SubscribeAsync is Subscribe for a function that is not done with an event when it returns. It
// must call done, from any goroutine, when it is. The client reads the control plane as fast as
// subscribers are done, up to a limit of time; see the client's documentation.
func (t TypeOf[U]) SubscribeAsync(c Client, name string, f func(ev Event[U], done func())) (stop func(), err error) {
	src, err := t.from(c)
	if err == nil && f == nil {
		err = errNoFunction
	}
	if err != nil {
		return nil, err
	}
	return src.SubscribeAsync(t.d, name, func(next, last State, done func()) { f(t.event(src, next, last.Update), done) })
}

// Get waits for the first event of a resource and returns its Update and its Err. It
// subscribes only while it waits.
func (t TypeOf[U]) Get(ctx context.Context, c Client, name string) (U, error) {
	for ev := range t.Watch(ctx, c, name) {
		return ev.Update, ev.Err
	}
	var none U
	return none, fmt.Errorf("resource: %s %q: %w", t.d.ShortName(), name, context.Cause(ctx))
}
