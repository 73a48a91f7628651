package environment

import (
	"slices"
	"sync"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
)

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
		e.retain()
		return e, nil
	}
	s, err := settings()
	if err != nil {
		return nil, err
	}
	e := &Env{settings: s, key: key, closed: true}
	e.retain()
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
		e.pool = e.settings.pool()
		return
	}
	process.users++
	if process.shared == nil {
		process.shared = client.NewPool(nil)
	}
	e.pool = process.shared
}

// leave removes an Env from those in use. It returns the pool if no Env uses it any more, or nil.
// The caller holds process.mu.
func (e *Env) leave() *client.Pool {
	process.open = slices.DeleteFunc(process.open, func(o *Env) bool { return o == e })
	if process.defaults[e.key] == e {
		delete(process.defaults, e.key)
	}
	pool := e.pool
	e.pool = nil
	if e.settings.private() {
		return pool
	}
	process.users--
	if process.users > 0 {
		return nil
	}
	process.shared = nil
	return pool
}
