package lbtree

import (
	"context"
	"sync/atomic"
)

// An Affinity binds a call to the endpoint of earlier calls of its session (A55). It belongs to one call. The picks of
// the call use it one after another.
type Affinity struct {
	// Addresses are the addresses of the session's endpoint, in order of preference (A61). It is empty if the session has
	// no endpoint yet.
	Addresses []string
	// Considered reports that the call waits, and was considered for dropping already.
	Considered bool

	used atomic.Pointer[string]
}

// Use records the endpoint that the call is sent to: its addresses, the one in use first, separated by commas. The text
// must not change.
func (a *Affinity) Use(addresses *string) { a.used.Store(addresses) }

// Used returns the addresses of the endpoint that the call was sent to last, or "".
func (a *Affinity) Used() string {
	if used := a.used.Load(); used != nil {
		return *used
	}
	return ""
}

// boundCall is a Call with its Affinity, to allocate them together.
type boundCall struct {
	call     Call
	affinity Affinity
}

// WithAffinity returns a context that carries a copy of its Call with an [Affinity] for the addresses. The copy goes to
// the given cluster, if that is one of the call's route (A60). The call is nil if the context has none.
func WithAffinity(ctx context.Context, addresses []string, cluster string) (context.Context, *Call) {
	c := CallOf(ctx)
	if c == nil {
		return ctx, nil
	}
	b := &boundCall{call: *c, affinity: Affinity{Addresses: addresses}}
	b.call.Affinity = &b.affinity
	for _, name := range c.Clusters {
		if name == cluster {
			b.call.Cluster = cluster
		}
	}
	return WithCall(ctx, &b.call), &b.call
}
