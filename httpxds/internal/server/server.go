package server

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/httpxds/internal/filterlist"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// The default limits of connections. A template of the program can set others.
const (
	// DefaultReadHeaderTimeout limits the time for a TLS handshake and for the headers of a request.
	DefaultReadHeaderTimeout = 10 * time.Second
	// DefaultIdleTimeout limits the time without a request, as in Envoy.
	DefaultIdleTimeout = time.Hour
)

// A Config has the settings of a server. Template, Forward and EscapedSlashes are optional.
type Config struct {
	server.Config

	// Handler serves the requests of routes with non_forwarding_action.
	Handler http.Handler
	// Forward serves the requests of routes that name clusters. Nil: such requests fail.
	Forward http.Handler
	// Filters are the HTTP filters that run.
	Filters *filterlist.Registry
	// Location returns the URL of a redirect.
	Location func(*http.Request, *route.Route, *route.Redirect) string
	// Change applies changes of headers. The request has the values that they refer to.
	Change func(http.Header, []route.HeaderChange, *http.Request)
	// EscapedSlashes accepts paths with an escaped slash or backslash.
	EscapedSlashes bool
	// Template has settings of net/http.
	Template *http.Server
}

// A Port is a port whose calls are HTTP requests.
type Port = server.Port[*routing]

// A Server serves the connections of its ports.
type Server struct {
	config *Config
	http   *http.Server

	mu    sync.Mutex
	ports []*Port
	ended bool
}

// New creates a server. It returns an error if the template has settings that the control plane or the port decides.
func New(c *Config) (*Server, error) {
	s := &Server{config: c}
	var err error
	s.http, err = fromTemplate(c.Template)
	if err != nil {
		return nil, err
	}
	if s.http.ErrorLog == nil {
		s.http.ErrorLog = log.New(errorLog{c.Logger}, "", 0)
	}
	s.http.Handler = http.HandlerFunc(serve)
	own := s.http.ConnContext
	s.http.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if own != nil {
			ctx = own(ctx, c)
		}
		return context.WithValue(ctx, connKey{}, connOf(c))
	}
	hook := s.http.ConnState
	s.http.ConnState = func(c net.Conn, state http.ConnState) {
		if state != http.StateNew {
			connOf(c).shaken.Store(true)
		}
		if hook != nil {
			hook(c, state)
		}
	}
	return s, nil
}

// fromTemplate copies the settings of a template. It returns an error for settings that have no effect here.
func fromTemplate(t *http.Server) (*http.Server, error) {
	if t == nil {
		t = new(http.Server)
	}
	for _, set := range []struct {
		name string
		is   bool
	}{
		{"Addr", t.Addr != ""}, {"Handler", t.Handler != nil}, {"TLSConfig", t.TLSConfig != nil}, {"TLSNextProto", t.TLSNextProto != nil},
	} {
		if set.is {
			return nil, errors.New("httpxds: http.Server." + set.name + " of the template is set; must be unset, because the Listener and NewServer decide it")
		}
	}
	out := &http.Server{
		DisableGeneralOptionsHandler: true, // filters and routes apply to "OPTIONS *", too
		ReadTimeout:                  t.ReadTimeout, ReadHeaderTimeout: t.ReadHeaderTimeout, WriteTimeout: t.WriteTimeout,
		IdleTimeout: t.IdleTimeout, MaxHeaderBytes: t.MaxHeaderBytes, ConnState: t.ConnState, ErrorLog: t.ErrorLog,
		BaseContext: t.BaseContext, ConnContext: t.ConnContext, HTTP2: t.HTTP2, Protocols: t.Protocols,
	}
	if out.ReadHeaderTimeout == 0 {
		out.ReadHeaderTimeout = DefaultReadHeaderTimeout
	}
	if out.IdleTimeout == 0 {
		out.IdleTimeout = DefaultIdleTimeout
	}
	if out.Protocols == nil {
		out.Protocols = new(http.Protocols)
		out.Protocols.SetHTTP1(true)
		out.Protocols.SetHTTP2(true)
		out.Protocols.SetUnencryptedHTTP2(true)
	}
	return out, nil
}

// An errorLog logs the errors of net/http to a logger, with the lines of other parts.
type errorLog struct{ logger *slog.Logger }

// Write implements [io.Writer]. Each line of the package log is one call.
func (l errorLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	switch { // any client can cause the first two
	case strings.HasPrefix(text, "http: TLS handshake error"):
		l.logger.Debug("a TLS handshake failed", "error", text)
	case strings.HasPrefix(text, "http2: server"):
		l.logger.Debug("a connection of HTTP/2 failed", "error", text)
	default:
		l.logger.Warn("net/http reports an error", "error", text)
	}
	return len(line), nil
}

// Serve serves a listening socket by the named Listener until Shutdown or Close, and then returns nil. It returns
// http.ErrServerClosed if the server has ended.
func (s *Server) Serve(lis net.Listener, name string) error {
	b := newBackend(s.config, lis.Addr(), protocols(s.http.Protocols))
	port, err := server.NewPort[*routing](&s.config.Config, b, lis, name)
	if err == nil {
		err = s.add(port)
	}
	if err != nil {
		_ = lis.Close() // the error says why
		return err
	}
	var handing sync.WaitGroup
	handing.Go(func() {
		_ = s.http.Serve(b.lobby) // it ends with the lobby
	})
	defer handing.Wait()
	defer b.lobby.Close()
	return port.Serve()
}

func (s *Server) add(p *Port) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return http.ErrServerClosed
	}
	s.ports = append(s.ports, p)
	return nil
}

// Ports returns the ports in the order of the calls of Serve.
func (s *Server) Ports() []*Port {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Port(nil), s.ports...)
}

// Shutdown stops accepting connections, and returns when all connections have ended. It closes idle connections, and
// waits for requests and for upgraded connections. It returns the error of ctx if that ends first.
func (s *Server) Shutdown(ctx context.Context) error {
	ports := s.end()
	drained := make(chan struct{})
	go func() { // ends at the latest with Close
		defer close(drained)
		each(ports, (*Port).GracefulStop)
	}()
	if err := s.http.Shutdown(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes all sockets and connections at once. It also ends a running Shutdown.
func (s *Server) Close() error {
	each(s.end(), (*Port).Stop)
	return s.http.Close()
}

// end makes Serve refuse further sockets.
func (s *Server) end() []*Port {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	return s.Ports()
}

// each ends all ports in parallel.
func each(ports []*Port, end func(*Port)) {
	var wg sync.WaitGroup
	for _, p := range ports {
		wg.Go(func() { end(p) })
	}
	wg.Wait()
}

// protocols returns the names of the protocols for ALPN, in the order of preference.
func protocols(p *http.Protocols) []string {
	var names []string
	if p.HTTP2() {
		names = append(names, "h2")
	}
	if p.HTTP1() {
		names = append(names, "http/1.1")
	}
	return names
}
