package relay

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// Defaults of the options.
const (
	defaultLinger        = time.Minute
	defaultSubscriptions = 100_000
)

// An Option sets up a [Relay]. New returns an error for an invalid value.
type Option func(*options) error

type options struct {
	linger        time.Duration
	subscriptions int
	rejected      func(source.Rejection)
	logger        *slog.Logger
}

// WithLinger sets the time for which an upstream subscription stays after its last downstream one. The
// default is a minute. Zero ends it at once.
func WithLinger(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithLinger = %v; must not be negative", d)
		}
		o.linger = d
		return nil
	}
}

// WithMaxSubscriptions sets the limit of upstream subscriptions. The default is 100,000. At the limit,
// new subscriptions replace lingering ones. If there are none, clients get an error (xRFC TP3) until a
// subscription ends.
func WithMaxSubscriptions(n int) Option {
	return func(o *options) error {
		if n <= 0 {
			return fmt.Errorf("WithMaxSubscriptions = %d; must be above zero", n)
		}
		o.subscriptions = n
		return nil
	}
}

// WithRejections sets a function that is called with each NACK of a downstream client. It must return
// at once. The text is that of the client: escape it before printing.
func WithRejections(f func(source.Rejection)) Option {
	return func(o *options) error { o.rejected = f; return nil }
}

// WithLogger logs when the resources become stale, and when they are live again.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l != nil {
			o.logger = l
		}
		return nil
	}
}
