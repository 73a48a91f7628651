package xdsforge

import (
	"context"
	"fmt"
	"iter"

	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/environment"
)

// A ClientStatus reads the state of a client: of the program, of the gRPC channels to one target, or
// of all gRPC servers. It does not keep the client open. The zero ClientStatus is that of a closed
// client. [Env.Clients] and [Client.Status] return one.
type ClientStatus struct{ scope *environment.Scope }

// Scope returns the key of the client (gRFC A71). It is the target of gRPC channels, "#server" for
// gRPC servers, or the name that the program gave its own client, which may be empty.
func (c ClientStatus) Scope() string {
	if c.scope == nil {
		return ""
	}
	return c.scope.Name()
}

// Snapshot describes the state of the client. It returns the error of ctx, or [ErrClosed].
func (c ClientStatus) Snapshot(ctx context.Context) (status.Snapshot, error) {
	if c.scope == nil {
		return status.Snapshot{}, errZeroClient
	}
	return wrapped(c.scope.Snapshot(ctx))
}

// Summary describes the state of the client without its resources. Its time does not depend on their
// number. It returns the error of ctx, or [ErrClosed].
func (c ClientStatus) Summary(ctx context.Context) (status.Snapshot, error) {
	if c.scope == nil {
		return status.Snapshot{}, errZeroClient
	}
	return wrapped(c.scope.Summary(ctx))
}

// Events returns the last [status.MaxEvents] events of the client, the oldest first. It works after the
// end of the client, too.
func (c ClientStatus) Events() []status.Event {
	if c.scope == nil {
		return nil
	}
	return c.scope.Events()
}

// FollowEvents yields the recorded events and then each further one, until ctx is done or the client
// is closed. If a slow reader misses events, their numbers have a gap.
func (c ClientStatus) FollowEvents(ctx context.Context) iter.Seq[status.Event] {
	if c.scope == nil {
		return func(func(status.Event) bool) {}
	}
	return c.scope.FollowEvents(ctx)
}

// wrapped adds the name of the package to an error.
func wrapped(s status.Snapshot, err error) (status.Snapshot, error) {
	if err != nil {
		return status.Snapshot{}, fmt.Errorf("xdsforge: %w", err)
	}
	return s, nil
}
