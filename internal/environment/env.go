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
