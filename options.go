package xdsforge

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/internal/telemetry"
)

type (
	// A Registrar takes resource types and extensions. The functions that are given to
	// [WithTypes] call it.
	Registrar = resource.Registrar
	// A Profile says how strictly the client reads resources.
	Profile = resource.Profile
)

// The profiles.
const (
	// GRPC rejects resources that the gRFCs say must be rejected. It is the default.
	GRPC = resource.GRPC
	// Envoy accepts resources that are valid by the rules of their messages
	// (protoc-gen-validate), and keeps extensions that nobody registered. It is for proxies.
	Envoy = resource.Envoy
)

type settings = environment.Settings

// An Option sets up an [Env], or the Env that [New] makes. Of several that set the same, the last
// one counts, apart from WithTypes. New and NewEnv return an error for an invalid value.
type Option func(*settings) error

// WithTypes registers resource types and extensions:
//
//	xdsforge.WithTypes(standard.Register, ratelimit.Register)
//
// It may be given several times, and functions may register the same type or extension. The
// built-in extensions are added for configurations that no function registered an extension for:
// gRPC's HTTP filters, LB policies, kinds of metadata and certificate providers.
func WithTypes(register ...func(Registrar)) Option {
	return func(s *settings) error {
		for i, f := range register {
			if f == nil {
				return fmt.Errorf("WithTypes: function %d is nil", i+1)
			}
		}
		s.Register = append(s.Register, register...)
		return nil
	}
}

// WithTypeSet sets the resource types and extensions, for programs that freeze a
// registry.Registry themselves. Nothing is added to the set. WithTypeSet excludes WithTypes and
// WithProfile.
func WithTypeSet(set *resource.Set) Option {
	return func(s *settings) error {
		if set == nil {
			return errors.New("WithTypeSet: the set is nil")
		}
		s.Types = set
		return nil
	}
}

// WithProfile sets how strictly clients read resources. The default is [GRPC].
func WithProfile(p Profile) Option {
	return func(s *settings) error {
		if p != GRPC && p != Envoy {
			return fmt.Errorf("WithProfile = %d; must be GRPC or Envoy", p)
		}
		s.Profile = &p
		return nil
	}
}

// WithBootstrap sets the bootstrap configuration. The default is that of [bootstrap.Load]: the
// environment variables GRPC_XDS_BOOTSTRAP or GRPC_XDS_BOOTSTRAP_CONFIG name it (gRFC A27).
func WithBootstrap(c *bootstrap.Config) Option {
	return func(s *settings) error {
		if c == nil {
			return errors.New("WithBootstrap: the configuration is nil")
		}
		s.Config = c
		return nil
	}
}

// WithBootstrapFile reads the bootstrap configuration from a file.
func WithBootstrapFile(path string) Option {
	return func(s *settings) (err error) {
		s.Config, err = bootstrap.LoadFile(path)
		return err
	}
}

// WithLogger sets where clients log. The default, and nil, discards. Clients log rejected
// responses and the begin of an outage at Warn, streams and the end of an outage at Info, and
// the rest at Debug.
func WithLogger(l *slog.Logger) Option {
	return func(s *settings) error {
		s.Logger = l
		return nil
	}
}

// WithMeterProvider exports metrics to OpenTelemetry: of the xDS clients (gRFC A78), and of the retries
// (gRFC A96) and outlier detection (gRFC A91) of gRPC channels. docs/metrics.md lists them. The default, and nil, exports nothing. The metrics end when the Env and everything
// made of it is closed.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(s *settings) (err error) {
		s.Metrics, s.Calls = nil, nil
		if p == nil {
			return nil
		}
		if s.Metrics, err = telemetry.NewReader(p); err != nil {
			return err
		}
		s.Calls, err = telemetry.NewCalls(p)
		return err
	}
}

// WithTracerProvider makes spans of the xDS clients: of each subscription until its first event, and of each
// response from a control plane. docs/traces.md lists them. The default, and nil, makes none. Calls of gRPC
// channels have the spans of grpc-go's OpenTelemetry plugin (gRFC A72), which has its own option.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(s *settings) error {
		s.Tracer = nil
		if p != nil {
			s.Tracer = p.Tracer(telemetry.Name)
		}
		return nil
	}
}

// WithClientName sets the name of the clients of [New] and [Env.NewClient] in snapshots and CSDS. It
// must neither be empty nor begin with "#". Without it, these clients have no name.
func WithClientName(name string) Option {
	return func(s *settings) error {
		if err := checkName(name); err != nil {
			return fmt.Errorf("WithClientName: %w", err)
		}
		s.ClientName = name
		return nil
	}
}

// WithTransport sets how clients reach control planes. The default is gRPC, as package
// grpctransport has it. The Env then shares its connections with no other Env.
func WithTransport(t transport.Transport) Option {
	return func(s *settings) error {
		if t == nil {
			return errors.New("WithTransport: the transport is nil")
		}
		s.Transport = t
		return nil
	}
}

// WithPrivateConnections gives the Env connections of its own. Without it, all Envs of the
// process share one connection for equal server entries (gRFC A47).
func WithPrivateConnections() Option {
	return func(s *settings) error {
		s.Private = true
		return nil
	}
}

// WithLastKnownGood keeps the resources in use in a directory, and uses them while no control plane of an
// authority is reachable, as its last server (gRFC A71). So clients, channels and servers of the Env
// start without a control plane. Events of such resources have the origin [resource.OriginStored] and an
// ambient error. NewEnv returns an error if the directory is not safe ([lkg.ErrUnsafe]) or belongs to
// another node ([lkg.ErrOtherNode]). Each node needs a directory of its own. docs/offline.md describes
// the store.
func WithLastKnownGood(o lkg.Options) Option {
	return func(s *settings) error {
		if o.Dir == "" {
			return errors.New("WithLastKnownGood: Dir is empty; it must name a directory")
		}
		s.LastKnownGood = &o
		return nil
	}
}

// WithLimits bounds the memory that resources take. A resource that exceeds a limit is invalid,
// with an error that names the limit. Limits that are not set have their defaults.
func WithLimits(l resource.Limits) Option {
	return func(s *settings) error {
		s.Client.Limits = l
		return nil
	}
}

// WithWatcherBudget sets for how long a client may leave a control plane unread while watchers
// work on its last response. The default is 100 ms; zero never waits for watchers.
func WithWatcherBudget(d time.Duration) Option {
	return func(s *settings) error {
		if d < 0 {
			return fmt.Errorf("WithWatcherBudget = %v; must not be negative", d)
		}
		if d == 0 {
			d = -1 // the client has its default for zero
		}
		s.Client.WatcherBudget = d
		return nil
	}
}
