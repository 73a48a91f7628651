package xdsforge

import (
	"context"
	"fmt"
	"sync"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/environment"
)

// A Client watches resources. The functions of the resource types' packages take it. It is safe
// for concurrent use. [New] and [Env.NewClient] make one; the zero Client is closed.
type Client struct {
	base
	scopeBase

	close func() error
}

// base and scopeBase keep the embedded fields unexported.
type (
	base      = resource.Base
	scopeBase = environment.ScopeBase
)

// New makes a client with an environment of its own. It does not connect until something is
// watched. It returns an error if no resource type is registered, or if the bootstrap is missing
// or invalid. Close the client after use.
func New(opts ...Option) (*Client, error) {
	e, err := NewEnv(opts...)
	if err != nil {
		return nil, err
	}
	c, err := e.NewClient()
	_ = e.Close() // the client keeps it open; without one, there is nothing that could fail
	return c, err
}

func newClient(core *environment.Env, name string) (*Client, error) {
	s, err := core.NewScope(name)
	if err != nil {
		return nil, fmt.Errorf("xdsforge: %w", err)
	}
	return &Client{base: resource.NewBase(s.Client), scopeBase: environment.NewScopeBase(s), close: sync.OnceValue(s.Release)}, nil
}

// Close ends all watches and streams of the client. It waits neither for watchers nor, for longer
// than half a second, for decoders. Cached resources can still be looked up. Close may be called
// more than once.
func (c *Client) Close() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}

// errZeroClient is the error of a Client that New did not make.
var errZeroClient = fmt.Errorf("xdsforge: the Client is %w; create it with New", ErrClosed)

// Snapshot describes the state of the client. It returns the error of ctx, or [ErrClosed].
func (c *Client) Snapshot(ctx context.Context) (status.Snapshot, error) {
	return c.Status().Snapshot(ctx)
}

// Status returns access to the state of the client.
func (c *Client) Status() ClientStatus { return ClientStatus{environment.ScopeOf(c)} }

// LoadStore returns the store of the load that the client reports to a server: one store for
// equal entries, whichever authority they belong to. The error is load.ErrServerNotInBootstrap
// for a server that the bootstrap does not have (gRFC A47), or [ErrClosed].
func (c *Client) LoadStore(s *bootstrap.Server) (*load.Store, error) {
	scope := environment.ScopeOf(c)
	if scope == nil {
		return nil, errZeroClient
	}
	store, err := scope.LoadStore(s)
	if err != nil {
		return nil, fmt.Errorf("xdsforge: %w", err)
	}
	return store, nil
}
