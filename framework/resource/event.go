package resource

import (
	"fmt"
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Origin is the source of the Update of an [Event].
type Origin uint8

const (
	// OriginNone is the origin of an event without an update.
	OriginNone Origin = iota
	// OriginPrimary means that the first server of the resource's authority sent the update.
	OriginPrimary
	// OriginFallback means that another server of the authority sent the update, because the client
	// cannot reach the first one (gRFC A71).
	OriginFallback
	// OriginStored means that the client read the update from a store, and that no server has
	// confirmed it since the client started.
	OriginStored
)

// String returns "none", "primary", "fallback" or "stored".
func (o Origin) String() string {
	switch o {
	case OriginPrimary:
		return "primary"
	case OriginFallback:
		return "fallback"
	case OriginStored:
		return "stored"
	default:
		return "none"
	}
}

// An Event is the state of one resource at one moment (gRFC A88). Exactly one of Update and
// Err is set.
type Event[T any] struct {
	// Update is the resource to use from now on. It is nil if Err is set.
	Update T
	// Err is the reason why there is no usable resource. An earlier Update must not be used
	// any longer.
	Err error
	// Ambient is a problem that leaves Update valid: the client cannot reach the control
	// plane, or the control plane sent an invalid version or deleted the resource. Nil means
	// that there is no such problem, or that an earlier one is over.
	Ambient error
	// Changed reports whether Update differs from that of the previous event of the same
	// watch. It is false for an event that only starts or ends an ambient problem or changes
	// the origin.
	Changed bool
	// Origin is where Update comes from.
	Origin Origin
}

// String returns one line for logs.
func (e Event[T]) String() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("no usable resource: %v", e.Err)
	case e.Ambient != nil && e.Origin == OriginNone:
		return fmt.Sprintf("problem: %v", e.Ambient)
	case e.Ambient != nil:
		return fmt.Sprintf("%v (%v; problem: %v)", e.Update, e.Origin, e.Ambient)
	default:
		return fmt.Sprintf("%v (%v)", e.Update, e.Origin)
	}
}

// LogValue implements [slog.LogValuer].
func (e Event[T]) LogValue() slog.Value {
	if e.Err != nil {
		return slog.GroupValue(slog.Any("error", e.Err))
	}
	var attrs []slog.Attr
	if e.Origin != OriginNone {
		attrs = append(attrs, slog.Any("update", e.Update), slog.String("origin", e.Origin.String()))
	}
	if e.Ambient != nil {
		attrs = append(attrs, slog.Any("ambient", e.Ambient))
	}
	return slog.GroupValue(attrs...)
}

// A MemberEvent is an event of one member of a collection, or of the collection as a whole.
type MemberEvent[U Update] struct {
	// Name is the name of the member. The zero Name stands for the collection as a whole:
	// Err is the reason why the collection is not usable, Ambient a problem that leaves the
	// members valid. Update is nil in both cases.
	Name xdstp.Name
	Event[U]
	// Synced reports whether the watch has yielded every member that existed when it began.
	// An empty collection is synced by an event that has only Synced set.
	Synced bool
}

// String returns one line for logs.
func (e MemberEvent[U]) String() string {
	switch {
	case e.Name != (xdstp.Name{}):
		return fmt.Sprintf("%v: %v", e.Name, e.Event)
	case e.Err == nil && e.Ambient == nil:
		return "collection is empty"
	default:
		return fmt.Sprintf("collection: %v", e.Event)
	}
}

// LogValue implements [slog.LogValuer].
func (e MemberEvent[U]) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", e.Name.String()), slog.Any("event", e.Event), slog.Bool("synced", e.Synced))
}
