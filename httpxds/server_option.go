package httpxds

import (
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/httpxds/internal/server"
)

// A ServerOption configures a [Server]. A nil ServerOption has no effect.
type ServerOption interface{ server(*serverSettings) }

// serverSettings are the settings of a Server.
type serverSettings struct {
	env         *xdsforge.Env
	config      server.Config
	logger      *slog.Logger
	modeChanged func(net.Addr, error)
}

type serverOption func(*serverSettings)

func (o serverOption) server(s *serverSettings) { o(s) }

func (o EnvOption) server(s *serverSettings) { s.env = o.env }

func (o LoggerOption) server(s *serverSettings) { s.logger = o.logger }

// OnMode sets a function that the server calls once for each address when it starts to serve there, and again whenever
// the mode or its reason changes. The error is nil if the server serves, and otherwise the reason why it does not. The
// function is not called concurrently for one address. While it runs, the address uses no newer configuration. The server
// also logs each change.
func OnMode(f func(addr net.Addr, err error)) ServerOption {
	return serverOption(func(o *serverSettings) { o.modeChanged = f })
}

// WithHTTPServer sets a template for limits, hooks and protocols of net/http. The server copies them and does not use the
// template itself. Addr, Handler, TLSConfig and TLSNextProto must be unset, because the Listener or NewServer decide
// them. Without a template the server speaks HTTP/1.1 and HTTP/2, with or without TLS. ReadHeaderTimeout is 10 s and
// IdleTimeout is 1 h, unless the template sets them. A negative time sets no limit.
func WithHTTPServer(template *http.Server) ServerOption {
	return serverOption(func(o *serverSettings) { o.config.Template = template })
}

// WithForwarding serves routes that name clusters with a handler, such as a reverse proxy. Without it, requests of these
// routes get the status 503, because a server does not forward (gRFC A36). The handler may read the body of a request after it
// has begun to respond. The server closes the body when the handler returns.
func WithForwarding(h http.Handler) ServerOption {
	return serverOption(func(o *serverSettings) { o.config.Forward = h })
}

// WithDrainTime limits the requests in flight after their Listener was changed or removed. The server closes their
// connections after this time, and idle connections too. The default is 10 min (gRFC A36). A negative time sets no limit.
func WithDrainTime(d time.Duration) ServerOption {
	return serverOption(func(o *serverSettings) { o.config.Grace = d })
}

// WithEscapedSlashes accepts paths with an escaped slash or backslash. Routes and the handler see them as slashes. Without
// it, such requests get the status 400, because a route and a handler could take them for different paths.
func WithEscapedSlashes() ServerOption {
	return serverOption(func(o *serverSettings) { o.config.EscapedSlashes = true })
}

// WithOtherAnyAddress lets a server that listens on [::] use a Listener whose address is 0.0.0.0 with the same port, and
// the reverse. Otherwise these addresses differ (gRFC A36).
func WithOtherAnyAddress() ServerOption {
	return serverOption(func(o *serverSettings) { o.config.AnyAddress = true })
}
