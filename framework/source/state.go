package source

import (
	"fmt"
	"time"
)

// A State is how current the resources of a session are.
type State struct {
	Kind  StateKind
	Since time.Time // of a stale session: when its resources were last known to be current
	Err   error     // the reason of Stale and Down
}

// A StateKind is the kind of a [State].
type StateKind uint8

const (
	// Live means that changes arrive.
	Live StateKind = 1 + iota
	// Stale means that the reported resources may be outdated, and may still be used.
	Stale
	// Down means that the Source cannot be used. Readers treat it as a failure of the connection to
	// a server.
	Down
)

// String returns the kind in lower case.
func (k StateKind) String() string {
	switch k {
	case Live:
		return "live"
	case Stale:
		return "stale"
	case Down:
		return "down"
	}
	return fmt.Sprintf("StateKind(%d)", uint8(k))
}

// String returns the state with its reason.
func (s State) String() string {
	if s.Err == nil {
		return s.Kind.String()
	}
	return s.Kind.String() + ": " + s.Err.Error()
}
