package client

import (
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/ads"
	"github.com/xdsforge/xdsforge/framework/transport"
)

type options struct {
	pool      *Pool
	transport transport.Transport
	logger    *slog.Logger
	ads       ads.Config
}

// An Option sets up a [Client].
type Option func(*options)

// WithPool shares the connections of a pool, which the client does not close.
// Without it, a client has a pool of its own.
func WithPool(p *Pool) Option { return func(o *options) { o.pool = p } }

// WithTransport sets how the client's own pool reaches control planes. The
// default is grpctransport.New(). It has no effect beside WithPool.
func WithTransport(t transport.Transport) Option { return func(o *options) { o.transport = t } }

// WithLogger sets where the client logs: rejected responses and lost control
// planes at Warn, streams at Info, the rest at Debug. The default discards.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithBackoff sets the pauses between attempts to reach a control plane. The
// default is [ads.DefaultBackoff].
func WithBackoff(b ads.Backoff) Option { return func(o *options) { o.ads.Backoff = b } }
