package httpxds

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/httpxds/internal/pool"
)

// An Option configures a [Transport] or a [Hosts].
type Option interface{ client(*settings) error }

// settings are the settings of a Transport.
type settings struct {
	env          *xdsforge.Env
	authority    string
	protocol     Protocol
	base         *http.Transport
	logger       *slog.Logger
	gateway      bool
	retryBuffer  int64
	requestHosts bool
	clusters     []string                      // that headers may name
	targets      func(*url.URL) (string, bool) // of a Hosts
	fallback     http.RoundTripper             // of a Hosts
}

type clientOption func(*settings) error

func (o clientOption) client(s *settings) error { return o(s) }

// An EnvOption is the result of [WithEnv].
type EnvOption struct{ env *xdsforge.Env }

func (o EnvOption) client(s *settings) error { //nolint:unparam // as the interface says
	s.env = o.env
	return nil
}

// WithEnv sets the environment. It must have the types of [Register] or of grpcxds.Register. The default is the default
// Env of the bootstrap that the environment variables name (gRFC A27).
func WithEnv(e *xdsforge.Env) EnvOption { return EnvOption{e} }

// WithAuthority sets the authority that chooses the virtual host. The default is that of the target: "checkout" for
// "xds:///checkout".
func WithAuthority(authority string) Option {
	return clientOption(func(s *settings) error {
		if authority == "" {
			return errors.New(`WithAuthority: authority = ""; must be set`)
		}
		s.authority = authority
		return nil
	})
}

// WithRequestHosts makes the Host of each request choose its virtual host, as in a proxy. Without the option, the authority of
// the target chooses one for all requests. A request without a virtual host fails with NoRoute.
func WithRequestHosts() Option {
	return clientOption(func(s *settings) error {
		s.requestHosts = true
		return nil
	})
}

// A Protocol is the HTTP version of connections to endpoints.
type Protocol uint8

// The protocols.
const (
	// Auto is HTTP/2 where TLS negotiates it, and HTTP/1.1 otherwise. It is the default.
	Auto Protocol = iota
	// HTTP1 is HTTP/1.1.
	HTTP1
	// HTTP2 is HTTP/2. Connections without TLS use it with prior knowledge (h2c).
	HTTP2
)

// WithProtocol sets the protocol of connections to the endpoints of clusters that do not configure one.
func WithProtocol(p Protocol) Option {
	return clientOption(func(s *settings) error {
		if p > HTTP2 {
			return fmt.Errorf("WithProtocol: protocol = %d; must be Auto, HTTP1 or HTTP2", p)
		}
		s.protocol = p
		return nil
	})
}

// WithHeaderClusters sets the clusters that a header of a request may name, where the route says cluster_header. Requests with
// another name fail. Without the option, all requests of such routes fail.
func WithHeaderClusters(names ...string) Option {
	return clientOption(func(s *settings) error {
		s.clusters = names
		return nil
	})
}

// WithBase sets a template for connections: their dialer, and the limits of responses and of connections. MaxConnsPerHost and
// MaxIdleConnsPerHost are limits for each endpoint. The control plane configures TLS, proxies and protocols, so those of the
// template have no effect. MaxIdleConns has none, either. The default is [http.DefaultTransport].
func WithBase(t *http.Transport) Option {
	return clientOption(func(s *settings) error {
		if t == nil {
			return errors.New("WithBase: the transport is nil")
		}
		s.base = t
		return nil
	})
}

// WithLogger sets the logger. The default is that of the Env, or slog.Default() if the Env has none.
func WithLogger(l *slog.Logger) LoggerOption { return LoggerOption{l} }

// A LoggerOption is the result of [WithLogger].
type LoggerOption struct{ logger *slog.Logger }

func (o LoggerOption) client(s *settings) error { //nolint:unparam // as the interface says
	s.logger = o.logger
	return nil
}

// WithGatewayResponses makes requests that receive no response return one with the status 404, 502, 503 or 504, as a proxy
// does, instead of an [*Error]. The end of a request's own context still is an error, and so is an Invalid request.
func WithGatewayResponses() Option {
	return clientOption(func(s *settings) error {
		s.gateway = true
		return nil
	})
}

// WithRetryBuffer sets the limit of the bytes that are kept of the body of a request without GetBody, so that a retry of its
// route can send them again. A request of which more was read is not retried. The control plane can set a lower limit for a
// route. The default is 1 MiB, and 0 keeps nothing. Requests without a retry policy keep nothing in any case.
func WithRetryBuffer(bytes int64) Option {
	return clientOption(func(s *settings) error {
		if bytes < 0 {
			return fmt.Errorf("WithRetryBuffer: bytes = %d; must not be negative", bytes)
		}
		s.retryBuffer = bytes
		return nil
	})
}

// newSettings applies options.
func newSettings(opts []Option) (*settings, error) {
	s := &settings{retryBuffer: defaultRetryBuffer}
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o.client(s); err != nil {
			return nil, fmt.Errorf("httpxds: %w", err)
		}
	}
	if s.base == nil {
		base, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			base = new(http.Transport)
		}
		s.base = base
	}
	return s, nil
}

// dialer returns the Dialer of a Transport.
func (s *settings) dialer() *pool.Dialer {
	protocols := [...]pool.Protocol{Auto: pool.Auto, HTTP1: pool.HTTP1, HTTP2: pool.HTTP2}
	return pool.NewDialer(s.base, protocols[s.protocol])
}
