package pool

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A Protocol is the HTTP version of connections.
type Protocol uint8

// The protocols.
const (
	Auto  Protocol = iota // HTTP/2 where TLS negotiates it, else HTTP/1.1
	HTTP1                 // HTTP/1.1
	HTTP2                 // HTTP/2: negotiated with TLS, and with prior knowledge without
)

// connectTimeout is the default limit of an attempt to connect, with the TLS handshake. It is Envoy's default.
const connectTimeout = 5 * time.Second

// maxReadFrame is the default size of the frames of HTTP/2 that endpoints may send, twice the protocol's default. net/http allocates
// memory for each frame, and wakes the reader of the response.
const maxReadFrame = 32 << 10

// A Dialer opens connections. It is safe for concurrent use.
type Dialer struct {
	// Protocol is the protocol of clusters that do not configure one.
	Protocol Protocol
	// IdleTimeout is how long a connection is kept without a request. 0: without limit.
	IdleTimeout time.Duration
	// MaxIdle limits the connections of HTTP/1.1 to one endpoint that have no request. 0: without limit.
	MaxIdle int
	// MaxConns limits the connections to one endpoint. 0: without limit.
	MaxConns int
	// Once lets each connection have a single request.
	Once bool

	handshake  time.Duration // the limit of a TLS handshake; 0: that of the attempt
	dial0      func(ctx context.Context, network, addr string) (net.Conn, error)
	transports [HTTP2 + 1]*http.Transport
}

// NewDialer returns a Dialer whose connections have the settings of a Transport. ADR 345 has the decision about each setting. The
// clones have no limits of connections: net/http counts only the connections of its own pool, and panics when another one closes.
func NewDialer(base *http.Transport, p Protocol) *Dialer {
	d := &Dialer{
		Protocol: p, IdleTimeout: base.IdleConnTimeout, MaxIdle: base.MaxIdleConnsPerHost, MaxConns: base.MaxConnsPerHost,
		Once:      base.DisableKeepAlives || base.MaxIdleConnsPerHost < 0,
		handshake: base.TLSHandshakeTimeout, dial0: dialerOf(base),
	}
	for i := range d.transports {
		t := base.Clone()
		t.MaxConnsPerHost, t.MaxIdleConnsPerHost, t.MaxIdleConns = 0, 0, 0
		t.DisableKeepAlives = d.Once
		t.Proxy, t.IdleConnTimeout, t.TLSClientConfig, t.TLSNextProto = nil, 0, nil, nil
		t.DialContext, t.DialTLSContext = d.dialRaw, d.dialTLS
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(Protocol(i) != HTTP2)
		t.Protocols.SetHTTP2(true) // http.Transport disables it for custom dialers
		t.Protocols.SetUnencryptedHTTP2(Protocol(i) == HTTP2)
		if t.HTTP2 == nil {
			t.HTTP2 = new(http.HTTP2Config)
		}
		t.HTTP2.MaxReadFrameSize = cmp.Or(t.HTTP2.MaxReadFrameSize, maxReadFrame)
		d.transports[i] = t
	}
	return d
}

// dialerOf returns the function of a Transport that opens connections.
func dialerOf(t *http.Transport) func(ctx context.Context, network, addr string) (net.Conn, error) {
	switch old := t.Dial; { //nolint:staticcheck // programs still set it
	case t.DialContext != nil:
		return t.DialContext
	case old != nil:
		return func(_ context.Context, network, addr string) (net.Conn, error) { return old(network, addr) }
	default:
		return new(net.Dialer).DialContext
	}
}

// An attempt has the parameters and results of one attempt to connect.
type attempt struct {
	address resolver.Address
	config  *tls.Config
	raw     *rawConn
	tls     *tls.Conn
}

type attemptKey struct{}

var errNoHTTP2 = errors.New("the endpoint did not negotiate HTTP/2")

// dial opens a connection to an address. If http1 is set, the connection speaks HTTP/1.1.
func (d *Dialer) dial(ctx context.Context, address resolver.Address, http1 bool) (*conn, error) {
	settings := lbtree.HTTPOf(address.Attributes)
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(settings.ConnectTimeout, connectTimeout))
	defer cancel()
	config, err := security.ClientTLS(ctx, address.Attributes)
	if err != nil {
		return nil, err
	}
	a := &attempt{address: address, config: config}
	scheme, protocol := "http", d.protocol(settings.Version)
	if http1 {
		protocol = HTTP1
	}
	if config != nil {
		scheme, config.NextProtos = "https", nextProtos(protocol)
	} else if protocol == Auto {
		protocol = HTTP1
	}
	cc, err := d.transports[protocol].NewClientConn(context.WithValue(ctx, attemptKey{}, a), scheme, address.Addr)
	if err != nil {
		return nil, err
	}
	multiplexed := config == nil && protocol == HTTP2 || a.tls != nil && a.tls.ConnectionState().NegotiatedProtocol == "h2"
	if protocol == HTTP2 && !multiplexed {
		_ = cc.Close() // it speaks another protocol
		return nil, errNoHTTP2
	}
	return &conn{ClientConn: cc, raw: a.raw, endpoint: address.Addr, secure: config != nil, multiplexed: multiplexed}, nil
}

// protocol returns the protocol of a cluster.
func (d *Dialer) protocol(v cluster.HTTPVersion) Protocol {
	switch v {
	case cluster.HTTPAuto:
		return Auto
	case cluster.HTTP1:
		return HTTP1
	case cluster.HTTP2:
		return HTTP2
	default:
		return d.Protocol
	}
}

func nextProtos(p Protocol) []string {
	switch p {
	case HTTP1:
		return []string{"http/1.1"}
	case HTTP2:
		return []string{"h2"}
	default:
		return []string{"h2", "http/1.1"}
	}
}

// dialRaw opens the network connection of an attempt.
func (d *Dialer) dialRaw(ctx context.Context, network, addr string) (net.Conn, error) {
	a := ctx.Value(attemptKey{}).(*attempt)
	nc, err := d.dial0(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if nc, err = security.ThroughProxy(ctx, nc, a.address.Attributes); err != nil {
		return nil, err
	}
	a.raw = &rawConn{Conn: nc}
	return a.raw, nil
}

// dialTLS opens the TLS connection of an attempt.
func (d *Dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	a := ctx.Value(attemptKey{}).(*attempt)
	if _, err := d.dialRaw(ctx, network, addr); err != nil {
		return nil, err
	}
	a.tls = tls.Client(a.raw, a.config)
	if d.handshake <= 0 {
		return a.tls, nil // http.Transport makes the handshake
	}
	ctx, cancel := context.WithTimeout(ctx, d.handshake)
	defer cancel()
	if err := a.tls.HandshakeContext(ctx); err != nil {
		_ = a.raw.Close() // the handshake has failed
		return nil, err
	}
	return a.tls, nil
}
