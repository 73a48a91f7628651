package grpctransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// DefaultMaxReceiveSize is the largest message accepted unless
// [WithMaxReceiveSize] says otherwise: 256 MiB. A state-of-the-world response
// holds every resource of a type, so that grpc-go's own 4 MiB would end at some
// ten thousand small ones.
const DefaultMaxReceiveSize = 256 << 20

// keepaliveTime is how long a connection may be silent before it is probed.
const keepaliveTime = 5 * time.Minute

// A Transport dials with grpc-go. It is safe for concurrent use.
type Transport struct {
	maxReceive  int
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
	t := &Transport{maxReceive: DefaultMaxReceiveSize, channel: builtinChannelCredentials()}
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
	c := &conn{target: server.URI(), options: opts, release: creds.release}
	if c.client, err = c.dial(); err != nil {
		creds.release()
		return nil, err
	}
	return c, nil
}

// A conn is a ClientConn, replaced when it has failed.
type conn struct {
	target  string
	options []grpc.DialOption
	release func()

	mu     sync.Mutex
	client *grpc.ClientConn // nil once closed
}

func (c *conn) dial() (*grpc.ClientConn, error) {
	client, err := grpc.NewClient(c.target, c.options...)
	if err != nil {
		return nil, fmt.Errorf("grpctransport: server %s: %w", c.target, err)
	}
	return client, nil
}

var errClosed = errors.New("grpctransport: the connection is closed")

// ready returns a ClientConn that is not in its own backoff. One that is has no
// streams, so that nobody loses anything with it.
func (c *conn) ready() (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return nil, errClosed
	}
	if c.client.GetState() == connectivity.TransientFailure {
		fresh, err := c.dial()
		if err != nil {
			return nil, err
		}
		_ = c.client.Close() // it fails only when closed twice
		c.client = fresh
	}
	return c.client, nil
}

// OpenStream implements [transport.Conn].
func (c *conn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	client, err := c.ready()
	if err != nil {
		return nil, err
	}
	s, err := client.NewStream(ctx, &grpc.StreamDesc{StreamName: method, ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return nil, plain(err)
	}
	return stream{s}, nil
}

// Close implements [transport.Conn].
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return nil
	}
	err := c.client.Close()
	c.client = nil
	c.release()
	return err
}

type stream struct{ grpc.ClientStream }

// Send implements [transport.Stream]. When the stream has ended, the reason is
// what Receive returns.
func (s stream) Send(msg []byte) error { return plain(s.SendMsg(msg)) }

// Receive implements [transport.Stream].
func (s stream) Receive() ([]byte, error) {
	var msg []byte
	if err := s.RecvMsg(&msg); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, plain(err)
	}
	return msg, nil
}

// plain keeps what a status error says and takes its type away: a control
// plane's status must not be found in an error chain and become that of a call
// (gRFC A54).
func plain(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	return fmt.Errorf("%s: %s", s.Code(), s.Message())
}
