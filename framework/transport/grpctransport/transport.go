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

// defaultMaxReceiveSize is the default of [WithMaxReceiveSize]: 256 MiB. A state-of-the-world
// response contains every resource of a type. grpc-go's default of 4 MiB allows only some ten
// thousand small ones.
const defaultMaxReceiveSize = 256 << 20

// defaultStreamTimeout is the default of [WithStreamTimeout]: 20 s, the same as gRPC's timeout of a
// connection attempt.
const defaultStreamTimeout = 20 * time.Second

// maxConnections is the default of [WithMaxConnections].
const maxConnections = 100

// keepaliveTime is the time without activity after which a connection is probed.
const keepaliveTime = 5 * time.Minute

// A Transport dials with grpc-go. It is safe for concurrent use.
type Transport struct {
	maxReceive  int
	timeout     time.Duration
	max         int // limit of connections to a server
	dialOptions []grpc.DialOption
	children    []grpc.DialOption
	channel     map[string]ChannelCredentials
}

// An Option configures a Transport.
type Option func(*Transport)

// WithMaxReceiveSize sets the limit of a message's size, in bytes. A larger message ends its stream
// with an error. Zero or less selects the default.
func WithMaxReceiveSize(bytes int) Option {
	return func(t *Transport) {
		if bytes > 0 {
			t.maxReceive = bytes
		}
	}
}

// WithStreamTimeout sets how long a server may accept connections and grant no stream on any of
// them, as one with a SETTINGS_MAX_CONCURRENT_STREAMS of 0 does. After that time, opening the
// stream fails with an error of kind [KindNoStream]. It is a connectivity failure (gRFC A57) and
// thus a reason to fall back (gRFC A71). The next attempt uses a new connection. Zero or less
// selects the default, 20 s.
func WithStreamTimeout(d time.Duration) Option {
	return func(t *Transport) {
		if d > 0 {
			t.timeout = d
		}
	}
}

// WithMaxConnections sets the limit of connections to a server that carry streams at a time.
// Streams share one connection unless the server limits them. After waiting 100 ms for
// SETTINGS_MAX_CONCURRENT_STREAMS, a stream gets another connection. At the limit of connections,
// opening the stream fails with an error of kind [KindNoStream]. Zero or less selects the default,
// 100 connections.
func WithMaxConnections(n int) Option {
	return func(t *Transport) {
		if n > 0 {
			t.max = n
		}
	}
}

// WithDialOptions adds options to every connection, for dialers, interceptors or keepalive. The
// credentials of the bootstrap's entry override transport credentials given here.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(t *Transport) { t.dialOptions = append(t.dialOptions, opts...) }
}

// WithChildDialOptions adds options to every connection, and to the channels to services that resources name (gRFC A102),
// such as stats handlers and interceptors (gRFC A110). The settings that the framework needs override them, and so do the
// credentials of the bootstrap. Options for control planes only, such as a token for them, belong into [WithDialOptions].
func WithChildDialOptions(opts ...grpc.DialOption) Option {
	return func(t *Transport) { t.children = append(t.children, opts...) }
}

// ChildDialOptions returns the options of [WithChildDialOptions].
func (t *Transport) ChildDialOptions() []grpc.DialOption { return slices.Clone(t.children) }

// WithChannelCredentials adds channel credentials under their name in bootstrap files, or replaces
// those of that name. Load the bootstrap with bootstrap.WithChannelCreds, so that entries with the
// name are selected.
func WithChannelCredentials(name string, build ChannelCredentials) Option {
	return func(t *Transport) { t.channel[name] = build }
}

// New returns a transport.
func New(opts ...Option) *Transport {
	t := &Transport{maxReceive: defaultMaxReceiveSize, timeout: defaultStreamTimeout, max: maxConnections, channel: builtinChannelCredentials()}
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
	opts := slices.Concat(t.children, []grpc.DialOption{
		// gRPC refuses a bundle beside transport credentials.
		grpc.WithTransportCredentials(nil), grpc.WithCredentialsBundle(nil),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime}),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0), // the framework closes unused connections
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(t.maxReceive)),
	}, t.dialOptions, creds.options)
	c := &conn{target: server.URI(), options: opts, bundle: creds.bundle, release: creds.release, timeout: t.timeout, max: t.max, arrivals: new(arrivals)}
	if _, err := c.dial(); err != nil {
		creds.release()
		return nil, err
	}
	return c, nil
}
