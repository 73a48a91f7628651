package resource

import (
	"context"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A CollectionState holds the changes of a collection since the previous state.
type CollectionState struct {
	// Err is a new reason why the collection is not usable.
	Err error
	// Ambient is a new problem that leaves the members valid.
	Ambient error
	// Synced reports whether every member that existed when the subscription began is in this
	// state or in an earlier one.
	Synced bool
	// Members are the members that changed, ordered by the first change of each.
	Members []MemberState
}

// A MemberState is the newest state of a member.
type MemberState struct {
	Name xdstp.Name
	State
	Last Update // the update of the member's previous state; nil if there was none
}

// A CollectionObservation is a subscription to a collection. Its owner polls it for changes.
type CollectionObservation interface {
	// Next waits for a change and returns all pending changes. It returns only the newest state of
	// each member. It fails as [Observation.Next] does.
	Next(ctx context.Context) (CollectionState, error)
	// Stop ends the subscription. It may be called more than once.
	Stop()
}
