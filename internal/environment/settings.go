package environment

import (
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
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
	// Client has further options of the xDS clients.
	Client []client.Option
}

// private reports whether the Env has its own connections.
func (s *Settings) private() bool { return s.Private || s.Transport != nil }

// pool returns a new pool of connections for these settings.
func (s *Settings) pool() *client.Pool {
	if s.Transport != nil {
		return client.NewPool(client.PoolTransport(s.Transport))
	}
	return client.NewPool()
}

// WithClient sets options of the xDS clients that package xdsforge does not have. Its result is an
// xdsforge.Option.
func WithClient(opts ...client.Option) func(*Settings) error {
	return func(s *Settings) error {
		s.Client = append(s.Client, opts...)
		return nil
	}
}
