package client

import (
	"fmt"
	"log/slog"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/feature"
)

// defaultWatcherBudget is the default of [Options.WatcherBudget].
const defaultWatcherBudget = 100 * time.Millisecond

// Options set up a [Client]. The zero value has the defaults.
type Options struct {
	// Pool has the connections that the client shares. The client does not close it. Nil:
	// the client has a pool of its own.
	Pool *Pool
	// Transport reaches control planes for the client's own pool. It has no effect beside
	// Pool. Nil: grpctransport.New().
	Transport transport.Transport
	// Logger is where the client logs. Nil discards. The client logs rejected responses at Warn,
	// streams at Info, the rest at Debug. An unreachable control plane causes one line at Warn,
	// another if the kind of error changes, and one at Info at the end. The client logs the
	// attempts between at Debug.
	Logger *slog.Logger
	// Tracer makes spans of subscriptions and responses. Nil makes none.
	Tracer trace.Tracer
	// Name is the attribute "grpc.target" of spans, and the attribute "target" of log lines.
	Name string
	// Backoff is the pause between attempts to reach a control plane, for resources and for
	// load reports. The default is 1 s, growing 1.6-fold to at most 120 s, give or take 20 %.
	Backoff ads.Backoff
	// MinLoadInterval and MaxLoadInterval bound the time between load reports that servers
	// may ask for. The defaults are 1 s and 1 h.
	MinLoadInterval, MaxLoadInterval time.Duration
	// Delta uses the incremental variant of the xDS transport protocol for servers whose
	// entry has neither of the features "xds.transport.delta" and "xds.transport.auto". The
	// default is the state of the world.
	Delta bool
	// FailOnDataErrors treats every server as if it had the feature "fail_on_data_errors":
	// data errors drop the cached resource (gRFC A88).
	FailOnDataErrors bool
	// WatcherBudget is how long the client may leave a control plane unread while watchers
	// work on its last response. The default is 100 ms; a negative one never waits for
	// watchers.
	WatcherBudget time.Duration
	// Store is the last known good store, which several clients may share. The client does not close
	// it. Nil: there is none.
	Store *lkg.Store
	// Features are client features of the node, in addition to those of every client.
	Features []string
	// Limits bound the memory that resources take. A resource that exceeds a limit is invalid.
	Limits resource.Limits
}

// withDefaults returns the options with the defaults that this package knows.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.WatcherBudget == 0:
		o.WatcherBudget = defaultWatcherBudget
	case o.WatcherBudget < 0:
		o.WatcherBudget = 0
	}
	o.Limits = o.Limits.WithDefaults()
	return o
}

// ads returns the configuration of the ADS machines.
func (o Options) ads() ads.Config {
	c := ads.Config{Backoff: o.Backoff}
	if o.Delta {
		c.Protocol = ads.Delta
	}
	return c
}

// lrs returns the configuration of the machines that report load.
func (o Options) lrs() lrs.Config {
	return lrs.Config{Backoff: o.Backoff, MinInterval: o.MinLoadInterval, MaxInterval: o.MaxLoadInterval}
}

// clientFeatures returns features that control planes may rely on: the client ignores
// overprovisioning factors (gRFC A27), it accepts resources in a wrapper that names them, and errors in their place (xRFC TP3).
func clientFeatures() []string {
	return []string{"envoy.lb.does_not_support_overprovisioning", "xds.config.resource-in-sotw", "xds.config.supports-resource-ttl", feature.ResourceErrors}
}

// encodeNode returns the node of a stream's first request, with features that only this kind of
// stream has.
func encodeNode(config *bootstrap.Config, features ...string) ([]byte, error) {
	node := config.Node()
	node.UserAgentName = userAgent
	node.UserAgentVersionType = &corev3.Node_UserAgentVersion{UserAgentVersion: userAgentVersion()}
	node.ClientFeatures = append(node.ClientFeatures, clientFeatures()...)
	node.ClientFeatures = append(node.ClientFeatures, features...)
	b, err := proto.Marshal(node)
	if err != nil {
		return nil, fmt.Errorf("client: encoding the node: %w", err)
	}
	return b, nil
}
