package xdsforge

import (
	"context"
	"fmt"

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

// wrapped adds the name of the package to an error.
func wrapped(s status.Snapshot, err error) (status.Snapshot, error) {
	if err != nil {
		return status.Snapshot{}, fmt.Errorf("xdsforge: %w", err)
	}
	return s, nil
}
