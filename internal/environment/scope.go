package environment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source/files"
	"github.com/xdsforge/xdsforge/framework/source/sourced"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/telemetry"
)

// Settings holds the settings of package xdsforge's options.
type Settings struct {
	// Config is the bootstrap configuration. If nil, it comes from the environment variables.
	Config *bootstrap.Config
	// Register holds the functions that register types and extensions.
	Register []func(resource.Registrar)
	// Types is a frozen set that replaces Register and Profile.
	Types *resource.Set
	// Profile decides how strictly resources are validated. Nil means gRPC's profile.
	Profile *resource.Profile
	// Logger is the logger of the clients. Nil discards.
	Logger *slog.Logger
	// Transport reaches control planes. Nil means grpctransport.
	Transport transport.Transport
	// Private gives the Env its own connections, as Transport does.
	Private bool
	// ClientName is the name of the program's own clients.
	ClientName string
	// Metrics exports metrics of the clients. Nil exports none.
	Metrics *telemetry.Reader
	// Calls records metrics of gRPC channels. Nil records none.
	Calls *telemetry.Calls
	// Tracer makes spans of the clients. Nil makes none.
	Tracer trace.Tracer
	// LastKnownGood sets up the last known good store of the clients. Nil means that there is none.
	LastKnownGood *lkg.Options
	// Client are further options of the xDS clients. The Env sets the pool and the logger.
	Client client.Options
}

// private reports whether the Env has its own connections. The resources of directories are
// validated by the types of one Env, so that Envs do not share them.
func (s *Settings) private() bool { return s.Private || s.Transport != nil || s.hasFiles() }

// pool returns a new pool of connections for these settings. The types validate the resources of directories.
func (s *Settings) pool(types *resource.Set) *client.Pool {
	if s.Transport != nil || !s.hasFiles() {
		return client.NewPool(s.Transport)
	}
	scheme := sourced.Files(files.Options{Types: types, Config: s.Config, Logger: s.Logger})
	return client.NewPool(sourced.Transport(grpctransport.New(), scheme))
}

// pools are pools of connections by the types of the clients that use them.
type pools map[*resource.Set]*client.Pool

// poolOf returns the pool for a client with these types. Clients with other types than those of the Env read directories by
// themselves, so that a resource has one verdict (ADR 332). The caller holds process.mu.
func (e *Env) poolOf(types *resource.Set) *client.Pool {
	if types == e.settings.Types || e.settings.Transport != nil || !e.settings.hasFiles() {
		return e.pool
	}
	p := e.others[types]
	if p == nil {
		p = e.settings.pool(types)
		if e.others == nil {
			e.others = make(pools)
		}
		e.others[types] = p
	}
	return p
}

// hasFiles reports whether a server entry of the bootstrap is a directory.
func (s *Settings) hasFiles() bool {
	isFile := func(server *bootstrap.Server) bool {
		scheme, _, found := strings.Cut(server.URI(), ":")
		return found && strings.EqualFold(scheme, "file")
	}
	if slices.ContainsFunc(s.Config.Servers(), isFile) {
		return true
	}
	for _, name := range s.Config.Authorities() {
		if a, ok := s.Config.Authority(name); ok && slices.ContainsFunc(a.Servers, isFile) {
			return true
		}
	}
	return false
}

// WithClient sets up the xDS clients by options that package xdsforge does not have. Its result is
// an xdsforge.Option.
func WithClient(set func(*client.Options)) func(*Settings) error {
	return func(s *Settings) error {
		set(&s.Client)
		return nil
	}
}

// Servers is the scope of all gRPC servers of an Env (gRFC A71). Channels have the scope of
// their target.
const Servers = "#server"

// HTTPServers is the scope of all HTTP servers of an Env. Their HTTP filters are not those of gRPC.
const HTTPServers = "#http-server"

// A Scope is an xDS client with its own cache and fallback state (gRFC A71). It holds a reference
// to its Env.
type Scope struct {
	*client.Client
	env    *Env
	name   string
	uses   int
	shared bool // all users of the name share it
}

// A ScopeBase connects the struct that embeds it to a Scope. Package xdsforge embeds it under an
// unexported name, so that programs do not see it.
type ScopeBase struct{ of *Scope }

// NewScopeBase returns a ScopeBase of a Scope.
func NewScopeBase(s *Scope) ScopeBase { return ScopeBase{s} }

func (b ScopeBase) scope() *Scope { return b.of }

// ScopeOf returns the Scope of a struct with a ScopeBase. It is nil for the zero ScopeBase.
func ScopeOf(holder interface{ scope() *Scope }) *Scope { return holder.scope() }

// Name returns the target of gRPC channels, Servers, or the name of a client of the program.
func (s *Scope) Name() string { return s.name }

// NewScope returns a separate client with a name of the program. Release closes it. The default name
// is that of the settings. NewScope returns an error after Close.
func (e *Env) NewScope(name string) (*Scope, error) {
	if err := e.Closed(); err != nil {
		return nil, err
	}
	if name == "" {
		name = e.settings.ClientName
	}
	e.Retain()
	defer e.Release()
	process.mu.Lock()
	defer process.mu.Unlock()
	return e.open(name, e.settings.Types)
}

// Acquire returns the client of a scope. All users of the same scope at one time share one client.
// The last one to release it closes it. A new client has the types, and the features in its node. The
// caller has a reference to the Env.
func (e *Env) Acquire(name string, types *resource.Set, features ...string) (*Scope, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	i := slices.IndexFunc(e.scopes, func(s *Scope) bool { return s.shared && s.name == name })
	if i < 0 {
		s, err := e.open(name, types, features...)
		if err == nil {
			s.shared = true
		}
		return s, err
	}
	e.scopes[i].uses++
	return e.scopes[i], nil
}

// open creates a client. The caller holds process.mu.
func (e *Env) open(name string, types *resource.Set, features ...string) (*Scope, error) {
	e.refs++ // the caller has another reference
	opts := e.settings.Client
	opts.Store = e.store
	opts.Features = append(slices.Clip(opts.Features), features...)
	opts.Logger, opts.Pool, opts.Tracer, opts.Name = e.settings.Logger, e.poolOf(types), e.settings.Tracer, name
	c, err := client.New(e.settings.Config, types, opts)
	if err != nil {
		e.refs--
		return nil, err
	}
	s := &Scope{Client: c, env: e, name: name, uses: 1}
	e.scopes = append(e.scopes, s)
	return s, nil
}

// Release releases the client. Each user of the client calls it once.
func (s *Scope) Release() error {
	process.mu.Lock()
	s.uses--
	if s.uses > 0 {
		process.mu.Unlock()
		return nil
	}
	s.shared = false // nobody acquires it any more
	process.mu.Unlock()
	s.remove()
	err := s.Close()
	s.env.Release()
	return err
}

// Snapshot describes the client.
func (s *Scope) Snapshot(ctx context.Context) (status.Snapshot, error) {
	snapshot, err := s.Client.Snapshot(ctx)
	snapshot.Scope = s.name
	return snapshot, err
}

// Summary describes the client without its resources.
func (s *Scope) Summary(ctx context.Context) (status.Snapshot, error) {
	snapshot, err := s.Client.Summary(ctx)
	snapshot.Scope = s.name
	return snapshot, err
}

// Scopes returns the clients that are open, ordered by their names.
func (e *Env) Scopes() []*Scope {
	process.mu.Lock()
	scopes := slices.Clone(e.scopes)
	process.mu.Unlock()
	slices.SortStableFunc(scopes, func(a, b *Scope) int { return strings.Compare(a.name, b.name) })
	return scopes
}

// Snapshots describes the clients that are open, ordered by their names.
func (e *Env) Snapshots(ctx context.Context) ([]status.Snapshot, error) {
	scopes := e.Scopes()
	out := make([]status.Snapshot, 0, len(scopes))
	for _, s := range scopes {
		switch snapshot, err := s.Snapshot(ctx); {
		case err == nil:
			out = append(out, snapshot)
		case !errors.Is(err, resource.ErrClosed): // a closed client is not in use any more
			return nil, fmt.Errorf("scope %q: %w", s.name, err)
		}
	}
	return out, nil
}
