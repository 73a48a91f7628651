package xdsforge

import (
	"context"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/environment"
)

// Targets describes the gRPC channels of the environment that are not idle, ordered by their targets.
// Calls do not wait for it. It returns the error of ctx, or an error for an Env that NewEnv did not
// make.
func (e *Env) Targets(ctx context.Context) ([]dataplane.Target, error) {
	core := environment.Of(e)
	if core == nil {
		return nil, errZero
	}
	targets, err := core.Targets(ctx)
	if err != nil {
		return nil, fmt.Errorf("xdsforge: %w", err)
	}
	return targets, nil
}

// Servers describes the gRPC servers of the environment until they are stopped, the oldest first.
func (e *Env) Servers() []dataplane.Server {
	core := environment.Of(e)
	if core == nil {
		return nil
	}
	return core.Servers()
}
