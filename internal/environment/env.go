package environment

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// An Env is a bootstrap, types, connections and xDS clients. Its fields below settings are
// guarded by the mutex of the process: references and the tables of the process change together.
type Env struct {
	settings Settings // Config and Types are set
	key      string   // of the bootstrap, for default Envs; else ""

	closed bool // the program has given its reference back; a default Env never had one
	refs   int
	pool   *client.Pool // nil while refs is 0
	scopes []*Scope
	extra  io.Closer // see Attach
	face   any       // see Face
}

// New returns an Env with a reference, which Close gives back. Config and Types must be set.
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

// Release gives a reference back. The last one closes what the Env opened.
func (e *Env) Release() { _ = e.release(func() bool { return true }) } // closing connections that are not needed

// Close gives the program's reference back. Further calls do nothing.
func (e *Env) Close() error {
	return e.release(func() bool {
		first := !e.closed
		e.closed = true
		return first
	})
}

// Closed returns an error if the program has closed the Env, so that nothing more is to be made
// of it.
func (e *Env) Closed() error {
	process.mu.Lock()
	defer process.mu.Unlock()
	if e.closed && e.key == "" {
		return fmt.Errorf("the Env is %w", resource.ErrClosed)
	}
	return nil
}

// release gives a reference back if the condition holds under the lock.
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

// Attach returns what another package keeps with the Env, such as the certificate providers of
// gRPC channels. If there is nothing yet, open makes it. It is closed with the Env. The caller
// has a reference, and is the only package that attaches something.
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

// Face returns the exported value that stands for the Env. The first call makes it
// by newFace.
func (e *Env) Face(newFace func() any) any {
	process.mu.Lock()
	defer process.mu.Unlock()
	if e.face == nil {
		e.face = newFace()
	}
	return e.face
}
