// Package environment has the core of [github.com/xdsforge/xdsforge.Env]: the state that the xDS
// clients, gRPC channels and gRPC servers of a program share.
//
// # References
//
// An [Env] is open as long as something refers to it: the program, until it closes the Env, and
// each [Scope]. The release of the last reference closes everything that the Env opened. A further
// [Env.Retain] opens the Env again. An idle channel can therefore always use its Env again.
//
// # The process
//
// Envs without a transport and without private connections share one pool of connections, so that
// equal server entries use one connection (gRFC A47). The pool closes with the last of these Envs.
// [Default] finds the Env for a bootstrap by the bootstrap's content.
package environment

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// An Env combines a bootstrap, types, connections and xDS clients. The mutex of the process guards
// the fields below settings, because references and the tables of the process change together.
type Env struct {
	settings Settings // Config and Types are set
	key      string   // of the bootstrap, for default Envs; else ""

	closed bool // the program has released its reference; a default Env never had one
	refs   int
	pool   *client.Pool // nil while refs is 0
	scopes []*Scope
	extra  io.Closer // see Attach
	face   any       // see Face
}

// New returns an Env with a reference, which Close releases. Config and Types must be set.
func New(s Settings) *Env {
	e := &Env{settings: s}
	e.Retain()
	return e
}

// Config returns the bootstrap configuration.
func (e *Env) Config() *bootstrap.Config { return e.settings.Config }

// Types returns the types and extensions.
func (e *Env) Types() *resource.Set { return e.settings.Types }

// Logger returns the logger, or nil.
func (e *Env) Logger() *slog.Logger { return e.settings.Logger }

// Retain takes a reference. It opens the Env if there was none.
func (e *Env) Retain() {
	process.mu.Lock()
	defer process.mu.Unlock()
	e.retain()
}

func (e *Env) retain() {
	e.refs++
	if e.refs == 1 {
		e.enter()
	}
}

// Release releases a reference. The last one closes everything that the Env opened.
func (e *Env) Release() { _ = e.release(func() bool { return true }) } // errors of closing unneeded connections

// Close releases the program's reference. Further calls do nothing.
func (e *Env) Close() error {
	return e.release(func() bool {
		first := !e.closed
		e.closed = true
		return first
	})
}

// Closed returns an error if the program has closed the Env. Nothing new may then use it.
func (e *Env) Closed() error {
	process.mu.Lock()
	defer process.mu.Unlock()
	if e.closed && e.key == "" {
		return fmt.Errorf("the Env is %w", resource.ErrClosed)
	}
	return nil
}

// release releases a reference if the condition holds under the lock.
func (e *Env) release(condition func() bool) error {
	process.mu.Lock()
	if !condition() {
		process.mu.Unlock()
		return nil
	}
	e.refs--
	if e.refs > 0 {
		process.mu.Unlock()
		return nil
	}
	extra, pool := e.extra, e.leave()
	e.extra = nil
	process.mu.Unlock()
	var errs []error
	if extra != nil {
		errs = append(errs, extra.Close())
	}
	if pool != nil {
		errs = append(errs, pool.Close())
	}
	return errors.Join(errs...)
}

// Attach returns the value that another package attached to the Env, such as the certificate
// providers of gRPC channels. If there is none yet, open makes it. It is closed with the Env. The
// caller has a reference, and is the only package that attaches something.
func (e *Env) Attach(open func() (io.Closer, error)) (io.Closer, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if e.extra == nil {
		made, err := open()
		if err != nil {
			return nil, err
		}
		e.extra = made
	}
	return e.extra, nil
}

// Face returns the exported value for the Env. The first call makes it with newFace.
func (e *Env) Face(newFace func() any) any {
	process.mu.Lock()
	defer process.mu.Unlock()
	if e.face == nil {
		e.face = newFace()
	}
	return e.face
}

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
	// Client are further options of the xDS clients. The Env sets the pool and the logger.
	Client client.Options
}

// private reports whether the Env has its own connections.
func (s *Settings) private() bool { return s.Private || s.Transport != nil }

// pool returns a new pool of connections for these settings.
func (s *Settings) pool() *client.Pool {
	return client.NewPool(s.Transport)
}

// WithClient sets up the xDS clients by options that package xdsforge does not have. Its result is
// an xdsforge.Option.
func WithClient(set func(*client.Options)) func(*Settings) error {
	return func(s *Settings) error {
		set(&s.Client)
		return nil
	}
}

// A Base connects the struct that embeds it to an Env. Package xdsforge embeds it under an
// unexported name, so that programs do not see it.
type Base struct{ env *Env }

// NewBase returns a Base of an Env.
func NewBase(e *Env) Base { return Base{e} }

func (b Base) core() *Env { return b.env }

// Of returns the Env of a struct with a Base. It is nil for the zero Base.
func Of(holder interface{ core() *Env }) *Env { return holder.core() }
