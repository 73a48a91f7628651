package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.opentelemetry.io/otel/metric"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/statedir"
)

type settings struct {
	limits      Limits
	unknown     bool
	permissions []Permission
	restricted  bool
	pick        func(*corev3.Node) string
	views       map[string]source.Source
	staleness   time.Duration
	coalesce    time.Duration
	answer      time.Duration // 0: the default
	stateDir    string        // "": none
	stateKey    []byte
	load        func(LoadReport)
	interval    time.Duration
	meters      metric.MeterProvider
	journal     *journal // nil: nothing is logged
}

// An Option sets up a [Server]. New returns an error for an invalid value.
type Option func(*settings) error

// WithLimits sets limits that differ from the defaults.
func WithLimits(l Limits) Option {
	return func(s *settings) (err error) {
		s.limits, err = l.withDefaults()
		return err
	}
}

// WithUnknownTypes serves resources of types that the set lacks. Their state-of-the-world responses
// use the wrapper envoy.service.discovery.v3.Resource. Without it, the server does not answer requests
// for such types.
func WithUnknownTypes() Option {
	return func(s *settings) error { s.unknown = true; return nil }
}

// WithPermissions restricts the clients to some types and authorities. The stream of a client without
// any permission ends with PERMISSION_DENIED. Another client receives an error with PERMISSION_DENIED
// (xRFC TP3) for each name without permission; its stream goes on. Without this option, every client
// may subscribe to everything.
func WithPermissions(list ...Permission) Option {
	return func(s *settings) error {
		s.restricted = true
		var errs []error
		for i := range list {
			if err := list[i].check(); err != nil {
				errs = append(errs, fmt.Errorf("WithPermissions: permission %d: %w", i+1, err))
			}
		}
		s.permissions = append(s.permissions, list...)
		return errors.Join(errs...)
	}
}

// WithViews gives nodes different resources under the same old-style names. For each stream, pick
// returns the view of the client's node, by the first request. The source of the view replaces that of
// the empty key. A name without a view, such as "", selects the sources of [New]. The node is nil if the
// client sends none. A client is not trusted: it can claim any node. pick must return at once.
func WithViews(pick func(*corev3.Node) string, views map[string]source.Source) Option {
	return func(s *settings) error {
		if pick == nil {
			return errors.New("WithViews: pick is nil")
		}
		for name, src := range views {
			if src == nil {
				return fmt.Errorf("WithViews: the source of view %q is nil", name)
			}
		}
		s.pick, s.views = pick, views
		return nil
	}
}

// WithMaxStaleness ends the streams that use a source that has been stale or down for longer than d, and
// refuses new ones, so that clients fall back to another server. The default is to serve what there is
// for ever.
func WithMaxStaleness(d time.Duration) Option {
	return func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("WithMaxStaleness = %v; must be above zero", d)
		}
		s.staleness = d
		return nil
	}
}

// removalPause is the time without messages on a stream after which removals are sent. It is longer than the steps of a
// client that follows a route to another cluster, and short for an operator who deletes something.
const removalPause = 500 * time.Millisecond

// defaultAnswerTimeout is the default of [WithAnswerTimeout].
const defaultAnswerTimeout = 10 * time.Second

// WithAnswerTimeout sets the time after which a name gets an error, UNAVAILABLE (xRFC TP3), if its source has not
// answered, for example because it has not been up yet. In state of the world, the listeners and clusters of other
// sources wait for the answers to all names. They wait no longer for such a name then, unless the client has resources of an earlier
// stream, and a response without one would delete it. Clients of this module keep a resource with an error. The default is 10 s.
func WithAnswerTimeout(d time.Duration) Option {
	return func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("WithAnswerTimeout = %v; must be above zero", d)
		}
		s.answer = d
		return nil
	}
}

// maxCoalesce is the limit of [WithCoalesce].
const maxCoalesce = time.Minute

// WithCoalesce sends the changes of resources to each client at most once in d, at most a minute. The first
// change after a pause is sent at once; later ones are combined. Answers to requests do not wait. With many
// clients and frequent changes, the server needs less CPU. The default sends each change at once, and combines
// the changes that a client has not read.
func WithCoalesce(d time.Duration) Option {
	return func(s *settings) error {
		if d <= 0 || d > maxCoalesce {
			return fmt.Errorf("WithCoalesce = %v; must be above zero and at most %v", d, maxCoalesce)
		}
		s.coalesce = d
		return nil
	}
}

// WithStateDir keeps the resources of the sources in a directory, so that the server can start while its sources
// cannot be reached: it then serves the resources that it had, with the same versions, and the sources are stale
// until they have reported their resources. Until then, the server tells no client that a resource is gone, because the
// directory may lack the newest resources. A name that it lacks has the error UNAVAILABLE (xRFC TP3), and a response in
// state of the world that would delete resources waits. With a key of at least 16 random bytes, the files are encrypted and
// authenticated; without a key, resources with secrets are not written. The directory must belong to the user of the
// process, and nobody else may write to it; it is created if it does not exist. A server writes all resources of a
// source after they have not changed for 2 s, at the latest after 30 s.
//
// The option does not apply to a relay, which has only the resources that clients want. Give the client of the relay
// a store: xdsforge.WithLastKnownGood.
func WithStateDir(dir string, key []byte) Option {
	return func(s *settings) error {
		if dir == "" {
			return errors.New(`WithStateDir = ""; must name a directory`)
		}
		if n := len(key); n > 0 && n < statedir.MinKey {
			return fmt.Errorf("WithStateDir: key = %d bytes; must have at least %d", n, statedir.MinKey)
		}
		s.stateDir, s.stateKey = dir, key
		return nil
	}
}

// WithLoad serves the load reporting service. Clients report at the interval, which must be at least a
// second. f is called with each report and must return at once; calls for different clients overlap. It
// may be nil: [Server.Load] has the totals in any case.
func WithLoad(interval time.Duration, f func(LoadReport)) Option {
	return func(s *settings) error {
		if interval < time.Second {
			return fmt.Errorf("WithLoad = %v; must be at least a second", interval)
		}
		if f == nil {
			f = func(LoadReport) {}
		}
		s.load, s.interval = f, interval
		return nil
	}
}

// WithLogger logs rejections, streams that the server refuses or ends, and the states of sources. The lines
// are described in docs/logs.md. Without it, the server logs nothing.
func WithLogger(l *slog.Logger) Option {
	return func(s *settings) error {
		if l == nil {
			return errors.New("WithLogger: the logger is nil")
		}
		s.journal = newJournal(l)
		return nil
	}
}

// WithMeterProvider exports the metrics of the server to OpenTelemetry. The metrics are described in
// docs/metrics.md.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(s *settings) error { s.meters = p; return nil }
}
