package environment

import (
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// Settings are what the options of package xdsforge set.
type Settings struct {
	// Config is the bootstrap configuration. Nil: the environment variables name it.
	Config *bootstrap.Config
	// Register are the functions that register types and extensions.
	Register []func(resource.Registrar)
	// Types is a frozen set in the place of Register and Profile.
	Types *resource.Set
	// Profile is how strictly resources are read. Nil: gRPC's.
	Profile *resource.Profile
	// Logger is where clients log. Nil: nowhere.
	Logger *slog.Logger
	// Transport reaches control planes. Nil: grpctransport.
	Transport transport.Transport
	// Private gives the Env connections of its own, as Transport does.
	Private bool
	// Client has further options of the xDS clients.
	Client []client.Option
}

// private reports whether the Env shares connections with no other Env.
func (s *Settings) private() bool { return s.Private || s.Transport != nil }

// pool makes a pool of connections for these settings.
func (s *Settings) pool() *client.Pool {
	if s.Transport != nil {
		return client.NewPool(client.PoolTransport(s.Transport))
	}
	return client.NewPool()
}

// WithClient sets up the xDS clients by options that package xdsforge does not have. Its result is
// an xdsforge.Option.
func WithClient(opts ...client.Option) func(*Settings) error {
	return func(s *Settings) error {
		s.Client = append(s.Client, opts...)
		return nil
	}
}
