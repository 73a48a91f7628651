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
	"maps"
	"slices"
	"sync"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
)

// An Env combines a bootstrap, types, connections and xDS clients. The mutex of the process guards
// the fields below settings, because references and the tables of the process change together.
type Env struct {
	settings Settings // Config and Types are set
	key      string   // of the bootstrap, for default Envs; else ""
	metrics  metrics

	closed bool // the program has released its reference; a default Env never had one
	refs   int
	pool   *client.Pool // nil while refs is 0
	others pools        // of clients with other types, see poolOf
	store  *lkg.Store   // nil while refs is 0, or if there is none
	scopes []*Scope
	extra  []attachment // see Attach
	face   any          // see Face

	plane dataPlane // has its own mutex
}

// New returns an Env with a reference, which Close releases. Config and Types must be set. The error is
// about metrics or the last known good store.
func New(s Settings) (*Env, error) {
	e := &Env{settings: s}
	process.mu.Lock()
	err := e.retain()
	process.mu.Unlock()
	if err == nil {
		err = e.export()
	}
	if err != nil {
		_ = e.Close() // it opened nothing
		return nil, err
	}
	return e, nil
}

// Config returns the bootstrap configuration.
func (e *Env) Config() *bootstrap.Config { return e.settings.Config }

// Types returns the types and extensions.
func (e *Env) Types() *resource.Set { return e.settings.Types }

// Credentials returns the transport that has the credentials of services (gRFC A102): that of the settings if it is
// gRPC's, or a new one.
func (e *Env) Credentials() *grpctransport.Transport {
	if t, ok := e.settings.Transport.(*grpctransport.Transport); ok {
		return t
	}
	return grpctransport.New()
}

// Logger returns the logger, or nil.
func (e *Env) Logger() *slog.Logger { return e.settings.Logger }

// Retain takes a reference. It opens the Env if there was none.
func (e *Env) Retain() {
	process.mu.Lock()
	e.warn(e.retain())
	opened := e.refs == 1
	process.mu.Unlock()
	if opened {
		_ = e.export() // New would have failed
	}
}

// retain takes a reference. If it opens the Env and the last known good store cannot be opened, the Env
// works without it, and the error is the reason. The caller holds process.mu.
func (e *Env) retain() error {
	e.refs++
	if e.refs > 1 {
		return nil
	}
	e.enter()
	return e.openStore()
}

// openStore opens the last known good store, if there is one. The caller holds process.mu.
func (e *Env) openStore() (err error) {
	o, err := e.settings.store()
	if o == nil || err != nil {
		return err
	}
	if o.Logger == nil {
		o.Logger = e.settings.Logger
	}
	node := e.settings.Config.Node()
	e.store, err = lkg.Open(*o, lkg.Node{ID: node.GetId(), Cluster: node.GetCluster()})
	return err
}

// warn logs why an Env that opened again works without its last known good store.
func (e *Env) warn(err error) {
	if logger := e.settings.Logger; err != nil && logger != nil {
		logger.Warn("the last known good store is not used", "error", err)
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
	extra, store, pools := e.extra, e.store, e.leave()
	e.extra, e.store = nil, nil
	process.mu.Unlock()
	errs := []error{e.export()}
	if store != nil {
		errs = append(errs, store.Close())
	}
	for _, a := range slices.Backward(extra) {
		errs = append(errs, a.value.Close())
	}
	for _, pool := range pools {
		errs = append(errs, pool.Close())
	}
	return errors.Join(errs...)
}

// An attachment is a value of another package.
type attachment struct {
	key   any
	value io.Closer
}

// Attach returns the value that another package attached to the Env under a key, such as the certificate providers of the
// data plane. If there is none yet, open makes it. The values are closed with the Env, the last one first. The caller has a
// reference. open must not use the Env's references and attachments.
func (e *Env) Attach(key any, open func() (io.Closer, error)) (io.Closer, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	for _, a := range e.extra {
		if a.key == key {
			return a.value, nil
		}
	}
	made, err := open()
	if err != nil {
		return nil, err
	}
	e.extra = append(e.extra, attachment{key, made})
	return made, nil
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

// A Base connects the struct that embeds it to an Env. Package xdsforge embeds it under an
// unexported name, so that programs do not see it.
type Base struct{ env *Env }

// NewBase returns a Base of an Env.
func NewBase(e *Env) Base { return Base{e} }

func (b Base) core() *Env { return b.env }

// Of returns the Env of a struct with a Base. It is nil for the zero Base.
func Of(holder interface{ core() *Env }) *Env { return holder.core() }

// process holds the state that the Envs of the program share. Packages that do not know each other
// share connections and default Envs, so this cannot be passed from one to the other.
var process struct {
	mu       sync.Mutex
	open     []*Env          // in the order of opening
	defaults map[string]*Env // the open ones, by the key of the bootstrap
	shared   *client.Pool    // nil: no Env uses it
	users    int             // of shared
}

// Open returns the Envs in use, in the order of opening.
func Open() []*Env {
	process.mu.Lock()
	defer process.mu.Unlock()
	return slices.Clone(process.open)
}

// Default returns the Env for a bootstrap with this content, and takes a reference to it. If none
// is open, it opens one with the result of settings.
func Default(config *bootstrap.Config, settings func() (Settings, error)) (*Env, error) {
	key := config.Key()
	process.mu.Lock()
	defer process.mu.Unlock()
	if e := process.defaults[key]; e != nil {
		e.warn(e.retain())
		return e, nil
	}
	s, err := settings()
	if err != nil {
		return nil, err
	}
	e := &Env{settings: s, key: key, closed: true}
	e.warn(e.retain())
	return e, nil
}

// enter adds an Env to those in use. The caller holds process.mu.
func (e *Env) enter() {
	process.open = append(process.open, e)
	if e.key != "" {
		if process.defaults == nil {
			process.defaults = make(map[string]*Env)
		}
		if process.defaults[e.key] == nil {
			process.defaults[e.key] = e
		}
	}
	if e.settings.private() {
		e.pool = e.settings.pool(e.settings.Types)
		return
	}
	process.users++
	if process.shared == nil {
		process.shared = client.NewPool(nil)
	}
	e.pool = process.shared
}

// leave removes an Env from those in use. It returns the pools that no Env uses any more. The caller holds process.mu.
func (e *Env) leave() []*client.Pool {
	process.open = slices.DeleteFunc(process.open, func(o *Env) bool { return o == e })
	if process.defaults[e.key] == e {
		delete(process.defaults, e.key)
	}
	pool := e.pool
	e.pool = nil
	if e.settings.private() {
		all := append(slices.Collect(maps.Values(e.others)), pool)
		e.others = nil
		return all
	}
	process.users--
	if process.users > 0 {
		return nil
	}
	process.shared = nil
	return []*client.Pool{pool}
}
