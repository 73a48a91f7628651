package httpxds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/httpxds/internal/server"
	dataserver "github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/environment"
)

// A Server is an HTTP server that control planes configure (gRFC A36). Each listening socket has a Listener resource.
// The Listener sets how connections are secured, which requests are served, and which HTTP filters they pass. It is safe
// for concurrent use.
type Server struct {
	scope     *environment.Scope
	bootstrap *bootstrap.Config
	server    *server.Server
	released  sync.Once
	unlist    func() // from the servers of the Env
}

// NewServer creates a server. The handler serves the requests that the routes let the server serve. The server does not
// connect until [Server.Serve].
//
// It returns an error if the bootstrap is missing or invalid, or if the Env is closed. The bootstrap must have a
// server_listener_resource_name_template, whose names are in an authority that has control planes.
func NewServer(h http.Handler, opts ...ServerOption) (*Server, error) {
	if h == nil {
		return nil, errors.New("httpxds: the handler of NewServer is nil; must be set")
	}
	o := serverSettings{config: server.Config{Handler: h}}
	o.config.Grace = dataserver.DefaultGrace
	for _, opt := range opts {
		if opt != nil {
			opt.server(&o)
		}
	}
	e, err := open(o.env)
	if err != nil {
		return nil, err
	}
	defer e.Release()
	return newServer(&o, e)
}

func newServer(o *serverSettings, e *opened) (*Server, error) {
	s := &Server{bootstrap: e.Config()}
	if _, err := s.listenerName("127.0.0.1:80"); err != nil { // any address
		return nil, err
	}
	share, err := e.share(resource.ServerSide)
	if err != nil {
		return nil, err
	}
	logger := e.logger(o.logger)
	config := &o.config
	config.Package, config.Providers, config.Filters, config.Logger = "httpxds", e.Providers, share.filters, logger
	config.Location, config.Change = locationReceived, changeReceived
	config.Report = dataserver.Reporter(logger, o.modeChanged)
	if s.server, err = server.New(config); err != nil {
		return nil, err
	}
	if s.scope, err = e.Acquire(environment.HTTPServers, share.types); err != nil {
		return nil, fmt.Errorf("httpxds: %w", err)
	}
	config.Client = s.scope.Client
	s.unlist = e.AddServer(s.describe)
	return s, nil
}

// listenerName returns the name of the Listener for an address (A36, A47).
func (s *Server) listenerName(addr string) (string, error) {
	name, err := s.bootstrap.ServerListenerName(addr)
	if err == nil {
		err = xdsconfig.CheckListener(s.bootstrap, name)
	}
	if err != nil {
		return "", fmt.Errorf("httpxds: no name for a server's Listener: %w", err)
	}
	return name.String(), nil
}

// Serve serves on a listening socket, with the configuration of the Listener resource for its address, and closes the
// socket at the end. Note that net.Listen("tcp", "0.0.0.0:8080") listens on [::]:8080. The server then watches the
// Listener of [::]:8080, and that Listener must have this address (A36). For 0.0.0.0:8080 use net.Listen("tcp4",
// "0.0.0.0:8080").
//
// While there is no usable Listener, the server closes connections without a byte. Serve does not fail if the
// configuration is missing or no control plane is reachable. It may be called for several sockets at once.
//
// Serve returns nil after Shutdown or Close. Otherwise it returns the error that stops the socket from accepting
// connections. It returns an error at once if the socket's address is not a TCP address, and http.ErrServerClosed if the
// server has ended.
func (s *Server) Serve(lis net.Listener) error {
	name, err := s.listenerName(lis.Addr().String())
	if err == nil {
		return s.server.Serve(lis, name)
	}
	_ = lis.Close() // the error says why
	return err
}

// Shutdown closes all sockets and makes Serve return nil. It closes idle connections, and returns when all requests and
// all upgraded connections have ended. If ctx ends first, Shutdown returns its error, and the program calls Close.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.server.Shutdown(ctx); err != nil {
		return err
	}
	s.release() //nolint:contextcheck // releasing has no context
	return nil
}

// Close closes all sockets and connections at once, and makes Serve return nil. It also ends a running Shutdown.
func (s *Server) Close() error {
	err := s.server.Close()
	s.release()
	return err
}

func (s *Server) release() {
	s.released.Do(func() {
		s.unlist()
		_ = s.scope.Release() // closing a client cannot fail
	})
}

// describe describes the server.
func (s *Server) describe() dataplane.Server {
	d := dataplane.Server{Taken: time.Now()}
	for _, p := range s.server.Ports() {
		d.Ports = append(d.Ports, p.Describe(d.Taken))
	}
	return d
}
