package client

import (
	"log/slog"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

type options struct {
	pool      *Pool
	transport transport.Transport
	logger    *slog.Logger
	ads       ads.Config
	lrs       lrs.Config
	fail      bool
	budget    time.Duration
	limits    resource.Limits
}

// DefaultWatcherBudget is the default of [WithWatcherBudget]: 100 ms.
const DefaultWatcherBudget = 100 * time.Millisecond

// A Backoff configures the pauses between attempts to reach a control plane.
type Backoff = ads.Backoff

// A Protocol is a variant of the xDS transport protocol.
type Protocol = ads.Protocol

// The variants of the xDS transport protocol.
const (
	StateOfTheWorld = ads.StateOfTheWorld
	Delta           = ads.Delta
)

// An Option configures a [Client].
type Option func(*options)

// WithPool makes the client use the connections of a pool, which the client does not close. Without
// it, a client has its own pool.
func WithPool(p *Pool) Option { return func(o *options) { o.pool = p } }

// WithTransport sets the transport of the client's own pool. The default is grpctransport.New(). It
// has no effect with WithPool.
func WithTransport(t transport.Transport) Option { return func(o *options) { o.transport = t } }

// WithLogger sets the logger. The default discards. Rejected responses are logged at Warn, streams
// at Info, the rest at Debug. An outage of a control plane is one line at Warn, another one if the
// kind of error changes, and one at Info when it is over. Attempts in between are logged at Debug.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithBackoff sets the pauses between attempts to reach a control plane, for its resources and for
// load reports. The default is [ads.DefaultBackoff].
func WithBackoff(b Backoff) Option {
	return func(o *options) { o.ads.Backoff, o.lrs.Backoff = b, b }
}

// WithLoadIntervals bounds the time between load reports that servers may ask for. A bound that is
// not positive has its default; see [lrs.Config].
func WithLoadIntervals(shortest, longest time.Duration) Option {
	return func(o *options) { o.lrs.MinInterval, o.lrs.MaxInterval = shortest, longest }
}

// WithProtocol sets the variant of the xDS transport protocol for servers whose entry has neither
// of the features "xds.transport.delta" and "xds.transport.auto". The default is
// [ads.StateOfTheWorld].
func WithProtocol(p ads.Protocol) Option { return func(o *options) { o.ads.Protocol = p } }

// WithFailOnDataErrors treats every server as if it had the feature "fail_on_data_errors": data
// errors drop cached resources (gRFC A88).
func WithFailOnDataErrors() Option { return func(o *options) { o.fail = true } }

// WithWatcherBudget sets the time for which the client waits for the watchers of a response before
// it reads the next one. Zero never waits for watchers. The default is [DefaultWatcherBudget].
func WithWatcherBudget(d time.Duration) Option { return func(o *options) { o.budget = d } }

// WithLimits bounds the memory of resources. A resource that exceeds a limit is invalid. Limits
// that are not set have their defaults.
func WithLimits(l resource.Limits) Option { return func(o *options) { o.limits = l } }
