package client_test

import (
	"log/slog"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// An option sets some of a client's options.
type option func(*client.Options)

// newWith returns a client with some options.
func newWith(c *bootstrap.Config, types *resource.Set, opts ...option) (*client.Client, error) {
	var all client.Options
	for _, set := range opts {
		set(&all)
	}
	return client.New(c, types, all)
}

func withPool(p *client.Pool) option {
	return func(o *client.Options) { o.Pool = p }
}

func withTransport(t transport.Transport) option {
	return func(o *client.Options) { o.Transport = t }
}

func withLogger(l *slog.Logger) option {
	return func(o *client.Options) { o.Logger = l }
}

func withBackoff(b ads.Backoff) option {
	return func(o *client.Options) { o.Backoff = b }
}

func withLoadIntervals(shortest, longest time.Duration) option {
	return func(o *client.Options) { o.MinLoadInterval, o.MaxLoadInterval = shortest, longest }
}

// withoutWatcherBudget never waits for watchers.
func withoutWatcherBudget() option {
	return func(o *client.Options) { o.WatcherBudget = -1 }
}

func withLimits(l resource.Limits) option {
	return func(o *client.Options) { o.Limits = l }
}
