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
