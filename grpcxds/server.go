package grpcxds

import (
	"fmt"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds/internal/server"
	dataserver "github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/environment"
)

// A Server is a gRPC server that control planes configure (gRFC A36). Each listening socket has a Listener resource.
// The Listener sets how connections are secured, which calls are accepted, and which HTTP filters they pass. Server
// replaces [grpc.Server] in generated code and in package reflection. It is safe for concurrent use.
type Server struct {
	scope     *environment.Scope
	bootstrap *bootstrap.Config
	config    server.Config

	// catalogue keeps the registered services for GetServiceInfo. It serves nothing.
	catalogue *grpc.Server

	mu       sync.Mutex
	services []service
	ports    []*server.Port
	serving  bool // Serve was called; services can no longer be registered
	stopped  bool
	released sync.Once
	unlist   func() // from the servers of the Env
}

// A service is a registered service and its implementation.
type service struct {
	desc *grpc.ServiceDesc
	impl any
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer makes a server. The server does not connect until [Server.Serve]. The options are those of
// [grpc.NewServer]. Interceptors of grpc.ChainUnaryInterceptor and grpc.ChainStreamInterceptor see only the calls
// that the HTTP filters let pass. Those of grpc.UnaryInterceptor and grpc.StreamInterceptor see all calls, because
// grpc-go calls them first.
//
// It returns an error if the bootstrap is missing or invalid, or if Env is closed. The bootstrap must have a
// server_listener_resource_name_template. The template must make names of Listeners, in an authority that has control
// planes.
func (c ServerConfig) NewServer(opts ...grpc.ServerOption) (*Server, error) {
	s := &Server{}
	from := &source{env: c.Env}
	if err := from.closed(); err != nil {
		return nil, err
	}
	e, err := from.open()
	if err != nil {
		return nil, err
	}
	defer e.Release()
	if err := s.open(&c, e, opts); err != nil {
		return nil, err
	}
	s.catalogue = grpc.NewServer()
	s.unlist = e.AddServer(s.describe)
	return s, nil
}

// open checks that Listeners can be named, and acquires the client, which refers to the Env.
func (s *Server) open(c *ServerConfig, e *opened, opts []grpc.ServerOption) error {
	if err := checkTemplate(e.Config()); err != nil {
		return err
	}
	logger := e.logger(c.Logger)
	grace := c.DrainTime
	if grace == 0 {
		grace = dataserver.DefaultGrace
	}
	var err error
	if s.scope, err = e.acquire(environment.Servers); err != nil {
		return err
	}
	s.bootstrap = e.Config()
	opts = slices.DeleteFunc(slices.Clone(opts), func(o grpc.ServerOption) bool { return o == nil })
	s.config = server.Config{
		Config: dataserver.Config{
			Package:    "grpcxds",
			Client:     s.scope.Client,
			Providers:  e.Providers,
			Report:     dataserver.Reporter(logger, modes(c.ModeChanged)),
			Grace:      grace,
			AnyAddress: c.OtherAnyAddress,
			Logger:     logger,
		},
		NodeID:         s.bootstrap.Node().GetId(),
		Options:        append([]grpc.ServerOption{grpc.UnknownServiceHandler(s.unknown)}, opts...),
		Register:       s.register,
		Chains:         e.chains,
		Host:           e.host(false),
		HandshakeLimit: server.DefaultHandshakeLimit,
	}
	return nil
}

// checkTemplate returns an error if the bootstrap cannot name a server's Listeners (A36, A47).
func checkTemplate(c *bootstrap.Config) error {
	name, err := c.ServerListenerName("127.0.0.1:80") // any address
	if err == nil {
		err = xdsconfig.CheckListener(c, name)
	}
	if err != nil {
		return fmt.Errorf("grpcxds: no name for a server's Listener: %w", err)
	}
	return nil
}

// RegisterService implements [grpc.ServiceRegistrar]. The service is available on every connection. As with
// grpc.Server, it ends the program if it is called after Serve, or if impl does not implement desc's type.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving {
		grpclog.Fatalf("grpcxds: RegisterService of %q after Serve", desc.ServiceName)
	}
	s.catalogue.RegisterService(desc, impl)
	s.services = append(s.services, service{desc, impl})
}

// register registers the services with a server that serves them. It runs after Serve was called, when the services
// no longer change.
func (s *Server) register(r grpc.ServiceRegistrar) {
	for _, v := range s.services {
		r.RegisterService(v.desc, v.impl)
	}
}

// GetServiceInfo returns the registered services, as grpc.Server does.
func (s *Server) GetServiceInfo() map[string]grpc.ServiceInfo { return s.catalogue.GetServiceInfo() }

// unknown rejects calls of methods that are not registered. It answers as grpc.Server does, but after the HTTP
// filters.
func (s *Server) unknown(_ any, ss grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(ss)
	return status.Errorf(codes.Unimplemented, "unknown method %s", method)
}

// Serve serves on a listening socket, with the configuration of the Listener resource for its address, and closes the
// socket at the end. Note that net.Listen("tcp", "0.0.0.0:8080") listens on [::]:8080. The server then watches the
// Listener of [::]:8080, and that Listener must have this address (A36). For 0.0.0.0:8080 use net.Listen("tcp4",
// "0.0.0.0:8080"). See also OtherAnyAddress of [ServerConfig].
//
// While there is no usable Listener, the server closes connections without a byte. Serve does not fail if the
// configuration is missing or no control plane is reachable. It may be called for several sockets at once.
//
// Serve returns nil after Stop or GracefulStop. Otherwise it returns the error that stops the socket from accepting
// connections. It returns an error at once if the socket's address is not a TCP address, and grpc.ErrServerStopped if
// the server is stopped. When it returns, the server no longer watches the Listener.
func (s *Server) Serve(lis net.Listener) error {
	port, err := s.port(lis)
	if err != nil {
		_ = lis.Close() // the error says why
		return err
	}
	return port.Serve()
}

// port adds a port.
func (s *Server) port(lis net.Listener) (*server.Port, error) {
	name, err := s.bootstrap.ServerListenerName(lis.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("grpcxds: %w", err)
	}
	port, err := server.NewPort(&s.config, lis, name.String())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, grpc.ErrServerStopped
	}
	s.serving = true
	s.ports = append(s.ports, port)
	return port, nil
}

// Stop closes all sockets and connections, cancels all calls, and makes Serve return nil. It also ends a running
// GracefulStop.
func (s *Server) Stop() { s.stop((*server.Port).Stop) }

// GracefulStop closes all sockets and makes Serve return nil. It returns when all calls in flight have ended.
func (s *Server) GracefulStop() { s.stop((*server.Port).GracefulStop) }

func (s *Server) stop(how func(*server.Port)) {
	s.mu.Lock()
	s.stopped, s.serving = true, true
	ports := s.ports
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range ports {
		wg.Go(func() { how(p) })
	}
	wg.Wait()
	s.released.Do(func() {
		s.unlist()
		s.catalogue.Stop()    // otherwise channelz keeps it
		_ = s.scope.Release() // closing a client cannot fail
	})
}
