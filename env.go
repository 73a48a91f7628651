package xdsforge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/registry"
)

// An Env is the environment that clients, gRPC channels and gRPC servers share: bootstrap, resource
// types, connections and settings. Its settings never change. It is safe for concurrent use.
// [NewEnv] makes one; the zero Env is not usable.
type Env struct{ environmentBase }

// environmentBase leads package grpcxds to the core.
type environmentBase = environment.Base

// errNoTypes is the error of an Env that could watch nothing.
var errNoTypes = errors.New("no resource types; give WithTypes(standard.Register), or the Register functions of the types to watch")

// errZero is the error of an Env that NewEnv did not make.
var errZero = errors.New("xdsforge: the Env is not valid; create it with NewEnv")

// NewEnv makes an environment. It does not connect. The errors name the option to change. Close
// the Env when nothing more is to be made of it.
func NewEnv(opts ...Option) (*Env, error) {
	core, err := newCore(opts)
	if err != nil {
		return nil, fmt.Errorf("xdsforge: %w", err)
	}
	return envOf(core), nil
}

// newCore makes the core of an Env.
func newCore(opts []Option) (*environment.Env, error) {
	var s settings
	var errs []error
	for _, o := range opts {
		if o != nil {
			errs = append(errs, o(&s))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := complete(&s); err != nil {
		return nil, err
	}
	return environment.New(s)
}

// complete sets the defaults of unset options.
func complete(s *settings) (err error) {
	switch {
	case s.Types != nil && s.Register != nil:
		return errors.New("WithTypeSet and WithTypes exclude each other")
	case s.Types != nil && s.Profile != nil:
		return errors.New("WithTypeSet and WithProfile exclude each other; the set has a profile")
	case s.Types == nil:
		if s.Types, err = freeze(s); err != nil {
			return err
		}
	}
	if s.Types.Len() == 0 {
		return errNoTypes
	}
	if s.Config == nil {
		s.Config, err = bootstrap.Load()
	}
	return err
}

// freeze makes the set of types.
func freeze(s *settings) (*resource.Set, error) {
	profile := GRPC
	if s.Profile != nil {
		profile = *s.Profile
	}
	reg := registry.New(registry.WithProfile(profile))
	for _, register := range s.Register {
		register(reg)
	}
	builtin.Register(reg)
	return reg.Freeze()
}

// envOf returns the Env that stands for a core, always the same one.
func envOf(core *environment.Env) *Env {
	return core.Face(func() any { return &Env{environment.NewBase(core)} }).(*Env)
}

// Envs returns the environments that are in use in this process, the oldest first. Among them
// are those that package grpcxds makes by default.
func Envs() []*Env {
	open := environment.Open()
	envs := make([]*Env, 0, len(open))
	for _, core := range open {
		envs = append(envs, envOf(core))
	}
	return envs
}

// NewClient returns a client of the environment. It has a cache of its own, and does not connect
// until something is watched.
func (e *Env) NewClient() (*Client, error) {
	core := environment.Of(e)
	if core == nil {
		return nil, errZero
	}
	return newClient(core, "")
}

// NewNamedClient returns a client as NewClient does. Snapshots and CSDS show it under the name, which
// must neither be empty nor begin with "#".
func (e *Env) NewNamedClient(name string) (*Client, error) {
	core := environment.Of(e)
	if core == nil {
		return nil, errZero
	}
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("xdsforge: NewNamedClient: %w", err)
	}
	return newClient(core, name)
}

// checkName returns an error for a name that could be taken for another scope.
func checkName(name string) error {
	if name == "" || strings.HasPrefix(name, "#") {
		return fmt.Errorf("name = %q; must neither be empty nor begin with \"#\", which is for scopes of gRFC A71", name)
	}
	return nil
}

// Bootstrap returns the bootstrap configuration.
func (e *Env) Bootstrap() *bootstrap.Config {
	if core := environment.Of(e); core != nil {
		return core.Config()
	}
	return nil
}

// Types returns the resource types and extensions.
func (e *Env) Types() *resource.Set {
	if core := environment.Of(e); core != nil {
		return core.Types()
	}
	return nil
}

// Snapshots describes the clients of the environment, ordered by their scopes. They are those of
// NewClient and NewNamedClient, one for all gRPC servers, and one for each target of gRPC channels
// (gRFC A71).
func (e *Env) Snapshots(ctx context.Context) ([]status.Snapshot, error) {
	core := environment.Of(e)
	if core == nil {
		return nil, errZero
	}
	snapshots, err := core.Snapshots(ctx)
	if err != nil {
		return nil, fmt.Errorf("xdsforge: %w", err)
	}
	return snapshots, nil
}

// Clients returns the open clients of the environment with their scopes, in the order of Snapshots.
func (e *Env) Clients() []ClientStatus {
	core := environment.Of(e)
	if core == nil {
		return nil
	}
	var list []ClientStatus
	for _, s := range core.Scopes() {
		list = append(list, ClientStatus{s})
	}
	return list
}

// Close says that nothing more will be made of the environment. Clients, channels and servers
// that were made of it go on, and the last one of them to close frees the Env. Close may be
// called more than once. It has no effect on the default Envs of package grpcxds.
func (e *Env) Close() error {
	if core := environment.Of(e); core != nil {
		return core.Close()
	}
	return nil
}
