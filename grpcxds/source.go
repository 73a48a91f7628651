package grpcxds

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/grpcxds/internal/sidechannel"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/internal/plane"
	"github.com/xdsforge/xdsforge/registry"
)

// A source finds the Env of a channel or server. It is not safe for concurrent use.
type source struct {
	env    *xdsforge.Env     // nil: inner, or the default one for config
	inner  *environment.Env  // the Env of a channel to a service
	config *bootstrap.Config // nil: the environment variables name it when it is first needed
	// service marks the channel to a service that a resource names (gRFC A102).
	service bool
}

// An opened is an Env with a reference. Release returns the reference.
type opened struct {
	*environment.Env
	*shared
}

// open returns the Env. It makes a default Env again if it was freed: an idle channel holds no
// reference.
func (s *source) open() (*opened, error) {
	e, err := s.retain()
	if err != nil {
		return nil, err
	}
	extra, err := shareOf(e)
	if err != nil {
		e.Release()
		return nil, fmt.Errorf("grpcxds: %w", err)
	}
	return &opened{e, extra}, nil
}

func (s *source) retain() (*environment.Env, error) {
	if s.inner != nil {
		s.inner.Retain()
		return s.inner, nil
	}
	if s.env != nil {
		e := environment.Of(s.env)
		if e == nil {
			return nil, errors.New("grpcxds: the Env is not valid; create it with xdsforge.NewEnv")
		}
		e.Retain()
		return e, nil
	}
	config, err := s.load()
	if err != nil {
		return nil, err
	}
	e, err := environment.Default(config, s.settings)
	if err != nil {
		return nil, fmt.Errorf("grpcxds: %w", err)
	}
	return e, nil
}

// settings returns the settings of a default Env.
func (s *source) settings() (environment.Settings, error) {
	reg := registry.New()
	Register(reg)
	types, err := reg.Freeze()
	return environment.Settings{Config: s.config, Types: types, Logger: slog.Default()}, err
}

// closed returns an error if the program has closed the Env.
func (s *source) closed() error {
	if s.env == nil || environment.Of(s.env) == nil {
		return nil
	}
	if err := environment.Of(s.env).Closed(); err != nil {
		return fmt.Errorf("grpcxds: %w", err)
	}
	return nil
}

// bootstrap returns the bootstrap for a new channel, or an error if the Env cannot be used. A default Env can always
// be opened if its bootstrap is valid.
func (s *source) bootstrap() (*bootstrap.Config, error) {
	if s.env == nil {
		return s.load()
	}
	if err := s.closed(); err != nil {
		return nil, err
	}
	e, err := s.open()
	if err != nil {
		return nil, err
	}
	e.Release()
	return e.Config(), nil
}

// load reads the bootstrap of a default Env once.
func (s *source) load() (_ *bootstrap.Config, err error) {
	if s.config == nil {
		if s.config, err = bootstrap.Load(); err != nil {
			return nil, fmt.Errorf("grpcxds: %w", err)
		}
	}
	return s.config, nil
}

// logger returns the first of own, the Env's logger and slog.Default() that is set.
func (e *opened) logger(own *slog.Logger) *slog.Logger {
	return cmp.Or(own, e.Logger(), slog.Default())
}

// acquire returns the xDS client of a scope.
func (e *opened) acquire(scope string) (*environment.Scope, error) {
	s, err := e.Acquire(scope, e.types, xdsconfig.ClientFeatures(e.types)...)
	if err != nil {
		return nil, fmt.Errorf("grpcxds: %w", err)
	}
	return s, nil
}

// shared is the state that the channels and servers of an Env share, in addition to xDS clients.
type shared struct {
	*plane.Plane
	types    *resource.Set // the types of the Env, without extensions that cannot run
	chains   *filterchain.Registry
	services *sidechannel.Cache
}

// sharedKey is the key of the attachment.
type sharedKey struct{}

func shareOf(e *environment.Env) (*shared, error) {
	p, err := plane.Of(e)
	if err != nil {
		return nil, err
	}
	s, err := e.Attach(sharedKey{}, func() (io.Closer, error) { return newShared(e, p) })
	if err != nil {
		return nil, err
	}
	return s.(*shared), nil
}

// newShared registers the running halves of an Env's extensions. It leaves out filters and certificate providers that
// only read configurations. Resources that need them are rejected (gRFC A39).
func newShared(e *environment.Env, p *plane.Plane) (s *shared, err error) {
	s = &shared{
		Plane: p, types: e.Types().Keep(complete),
		services: sidechannel.New(serviceDialer{e, p.Providers}.dial),
	}
	var filters []httpfilter.Filter
	for x := range s.types.Extensions() {
		switch x := x.(type) {
		case *httpfilter.Filter:
			filters = append(filters, *x)
		case httpfilter.Filter:
			filters = append(filters, x)
		}
	}
	if len(filters) == 0 {
		return nil, errors.New("the Env has no HTTP filter that can run; make it with xdsforge.WithTypes(grpcxds.Register)")
	}
	s.chains, err = filterchain.New(filters)
	return s, err
}

// complete reports whether an extension can run, not only read configurations.
func complete(x resource.Extension) bool {
	switch x.(type) {
	case *resource.HTTPFilter, *resource.CertificateProvider:
		return false
	default:
		return true
	}
}

// Close implements [io.Closer]. The Plane is closed separately, and later.
func (s *shared) Close() error {
	s.services.Close()
	return nil
}
