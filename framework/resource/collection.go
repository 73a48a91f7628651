package resource

import (
	"cmp"
	"context"
	"iter"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Member is what became of one member of a collection.
//
//	Update, nil   the member is new or has changed
//	Update, Err   it stays valid; Err is an ambient error
//	nil, Err      there is no such member (any longer), or none that can be used
type Member[U Update] struct {
	Name   xdstp.Name
	Update U
	Err    error
}

// WatchCollection yields what becomes of the members of a collection: the
// [Wildcard], a glob collection (".../*"), or a list collection, which is named by the
// type's collection message (TP1). The first steps bring the members that there
// are. An error beside an empty Member is about the collection as a whole: it cannot
// be reached, is refused, or does not exist; members that were yielded stay valid.
// The iteration goes on, and ends as [Watch] does.
func WatchCollection[U Update](ctx context.Context, c Source, t *Descriptor, name string) iter.Seq2[Member[U], error] {
	return func(yield func(Member[U], error) bool) {
		o, err := c.ObserveCollection(t, name)
		if err != nil {
			yield(Member[U]{}, err)
			return
		}
		defer o.Stop()
		for {
			s, err := o.Next(ctx)
			if err != nil {
				return
			}
			if err := cmp.Or(s.Err, s.Ambient); err != nil && !yield(Member[U]{}, err) {
				return
			}
			for _, m := range s.Members {
				u, _ := m.Update.(U)
				if !yield(Member[U]{Name: m.Name, Update: u, Err: m.Err}, nil) {
					return
				}
			}
		}
	}
}

// A CollectionState is what is new of a collection.
type CollectionState struct {
	// Err is a new reason why the collection is not usable.
	Err error
	// Ambient is a new problem that leaves the members valid.
	Ambient error
	// Synced reports whether every member that existed when the subscription began is in this
	// state or in an earlier one.
	Synced bool
	// Members are those of which there is something new, in the order in which it
	// first happened.
	Members []MemberState
}

// A MemberState is the newest state of a member.
type MemberState struct {
	Name xdstp.Name
	State
	Last Update // of the member's previous state; nil if there was none
}

// A CollectionObservation is a subscription to a collection whose owner asks for
// what is new.
type CollectionObservation interface {
	// Next waits until there is something new, and returns all of it; of each
	// member only the newest state is seen. It fails as [Observation.Next] does.
	Next(ctx context.Context) (CollectionState, error)
	// Stop ends the subscription. It may be called more than once.
	Stop()
}
