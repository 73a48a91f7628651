package httpxds

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/internal/plane"
	"github.com/xdsforge/xdsforge/registry"
)

// An opened is an Env with a reference. Release returns the reference.
type opened struct {
	*environment.Env
	*plane.Plane
}

// open returns the Env of the program, or the default Env of the bootstrap that the environment variables name.
func open(env *xdsforge.Env) (*opened, error) {
	e, err := retain(env)
	if err != nil {
		return nil, fmt.Errorf("httpxds: %w", err)
	}
	p, err := plane.Of(e)
	if err != nil {
		e.Release()
		return nil, fmt.Errorf("httpxds: %w", err)
	}
	return &opened{e, p}, nil
}

func retain(env *xdsforge.Env) (*environment.Env, error) {
	if env != nil {
		e := environment.Of(env)
		if e == nil {
			return nil, errors.New("the Env is not valid; create it with xdsforge.NewEnv")
		}
		if err := e.Closed(); err != nil {
			return nil, err
		}
		e.Retain()
		return e, nil
	}
	config, err := bootstrap.Load()
	if err != nil {
		return nil, err
	}
	return environment.Default(config, func() (environment.Settings, error) {
		reg := registry.New()
		Register(reg)
		types, err := reg.Freeze()
		return environment.Settings{Config: config, Types: types, Logger: slog.Default()}, err
	})
}
