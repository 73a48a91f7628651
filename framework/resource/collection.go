package resource

import (
	"context"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

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
