package grpctransport

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// DefaultMaxReceiveSize is the largest message accepted unless
// [WithMaxReceiveSize] says otherwise: 256 MiB. A state-of-the-world response
// holds every resource of a type, so that grpc-go's own 4 MiB would end at some
// ten thousand small ones.
const DefaultMaxReceiveSize = 256 << 20

// DefaultStreamTimeout is how long a server may leave a client without a stream unless
// [WithStreamTimeout] says otherwise: 20 s, as long as gRPC gives a connection attempt.
const DefaultStreamTimeout = 20 * time.Second

// maxConnections is how many connections to a server carry streams at a time, unless
// [WithMaxConnections] says otherwise.
const maxConnections = 100

// keepaliveTime is how long a connection may be silent before it is probed.
const keepaliveTime = 5 * time.Minute

// A Transport dials with grpc-go. It is safe for concurrent use.
type Transport struct {
	maxReceive  int
	timeout     time.Duration
	max         int // connections to a server
	dialOptions []grpc.DialOption
	channel     map[string]ChannelCredentials
}

// An Option sets up a Transport.
type Option func(*Transport)

// WithMaxReceiveSize sets the largest message accepted, in bytes. A larger one
// ends its stream with an error. Zero or less leaves the default.
func WithMaxReceiveSize(bytes int) Option {
	return func(t *Transport) {
		if bytes > 0 {
			t.maxReceive = bytes
		}
	}
}

// WithStreamTimeout sets how long a server may accept connections and grant no stream on
// any of them, as one with a SETTINGS_MAX_CONCURRENT_STREAMS of 0 does. After that time
// opening the stream fails with an error of kind [KindNoStream], which is a connectivity
// failure (gRFC A57) and thus a reason to fall back (gRFC A71). The next attempt is on a
// new connection. Zero or less leaves the default, [DefaultStreamTimeout].
func WithStreamTimeout(d time.Duration) Option {
	return func(t *Transport) {
		if d > 0 {
			t.timeout = d
		}
	}
}

// WithMaxConnections sets how many connections to a server may carry streams at a time.
// Streams share one connection unless the server limits them: after 100 ms, a stream that
// waits for SETTINGS_MAX_CONCURRENT_STREAMS gets another connection. If there can be no
// further one, opening the stream fails with an error of kind [KindNoStream]. Zero or less
// leaves the default, 100 connections.
func WithMaxConnections(n int) Option {
	return func(t *Transport) {
		if n > 0 {
			t.max = n
		}
	}
}

// WithDialOptions adds to the options of every connection, for dialers,
// interceptors or keepalive. Transport credentials given here are overridden by
// those of the bootstrap's entry.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(t *Transport) { t.dialOptions = append(t.dialOptions, opts...) }
}

// WithChannelCredentials adds channel credentials under the name that bootstrap
// files use for them, or replaces those of that name. Load the bootstrap with
// bootstrap.WithChannelCreds, so that entries with the name are selected.
func WithChannelCredentials(name string, build ChannelCredentials) Option {
	return func(t *Transport) { t.channel[name] = build }
}

// New returns a transport.
func New(opts ...Option) *Transport {
	t := &Transport{maxReceive: DefaultMaxReceiveSize, timeout: DefaultStreamTimeout, max: maxConnections, channel: builtinChannelCredentials()}
	for _, o := range opts {
		o(t)
	}
	return t
}

var _ transport.Transport = (*Transport)(nil)

// Dial implements [transport.Transport].
func (t *Transport) Dial(server *bootstrap.Server) (transport.Conn, error) {
	creds, err := t.credentials(server)
	if err != nil {
		return nil, fmt.Errorf("grpctransport: server %s: %w", server.URI(), err)
	}
	opts := slices.Concat([]grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime}),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0), // the framework closes what is unused
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(t.maxReceive)),
	}, t.dialOptions, creds.options)
	c := &conn{target: server.URI(), options: opts, bundle: creds.bundle, release: creds.release, timeout: t.timeout, max: t.max, arrivals: creds.arrivals}
	if _, err := c.dial(); err != nil {
		creds.release()
		return nil, err
	}
	return c, nil
}
