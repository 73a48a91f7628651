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
	"github.com/xdsforge/xdsforge/internal/environment"
)

// A Server is a gRPC server that control planes configure (gRFC A36): what it listens on
// has a Listener resource each, which says how connections are secured, which calls are
// taken, and what HTTP filters these go through. It takes the place of a [grpc.Server] in
// generated code and in package reflection, and is safe for concurrent use.
type Server struct {
	scope     *environment.Scope
	bootstrap *bootstrap.Config
	config    server.Config

	// catalogue has the services as users register them, and serves nothing.
	catalogue *grpc.Server

	mu       sync.Mutex
	services []service
	ports    []*server.Port
	serving  bool // Serve was called: it is too late for services
	stopped  bool
	released sync.Once
}

// A service is what was registered.
type service struct {
	desc *grpc.ServiceDesc
	impl any
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer makes a server, which talks to nobody until [Server.Serve]. Options are those
// of [grpc.NewServer]. Interceptors that come with grpc.ChainUnaryInterceptor and
// grpc.ChainStreamInterceptor see calls that the HTTP filters let through; those of
// grpc.UnaryInterceptor and grpc.StreamInterceptor see all, since grpc-go calls them before any
// other.
//
// It returns an error if the bootstrap is missing or invalid, or if Env is closed. It also does
// if the bootstrap has no server_listener_resource_name_template, or one that makes names of
// another resource type or of an authority without control planes.
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
	return s, nil
}

// open checks that Listeners can be named, and acquires the client, which refers to the Env.
func (s *Server) open(c *ServerConfig, e *opened, opts []grpc.ServerOption) error {
	if err := checkTemplate(e.Config()); err != nil {
		return err
	}
	logger := e.logger(c.Logger)
	report := c.ModeChanged
	if report == nil {
		report = logModes(logger)
	}
	grace := c.DrainTime
	if grace == 0 {
		grace = server.DefaultGrace
	}
	var err error
	if s.scope, err = e.acquire(environment.Servers); err != nil {
		return err
	}
	s.bootstrap = e.Config()
	opts = slices.DeleteFunc(slices.Clone(opts), func(o grpc.ServerOption) bool { return o == nil })
	s.config = server.Config{
		Client:         s.scope.Client,
		NodeID:         s.bootstrap.Node().GetId(),
		Options:        append([]grpc.ServerOption{grpc.UnknownServiceHandler(s.unknown)}, opts...),
		Register:       s.register,
		Chains:         e.chains,
		Providers:      e.providers,
		Report:         func(addr net.Addr, err error) { report(ModeChange{addr, modeOf(err), err}) },
		Grace:          grace,
		AnyAddress:     c.OtherAnyAddress,
		HandshakeLimit: server.DefaultHandshakeLimit,
		Logger:         logger,
	}
	return nil
}

// checkTemplate says why a server's Listeners have no names (A36, A47).
func checkTemplate(c *bootstrap.Config) error {
	name, err := c.ServerListenerName("127.0.0.1:80") // any address
	if err == nil {
		err = checkListener(c, name)
	}
	if err != nil {
		return fmt.Errorf("grpcxds: no name for a server's Listener: %w", err)
	}
	return nil
}

// RegisterService implements [grpc.ServiceRegistrar]: every connection will find the
// service. Like that of a grpc.Server, it must be called before Serve, and ends the program
// otherwise, or if impl is not of desc's type.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving {
		grpclog.Fatalf("grpcxds: RegisterService of %q after Serve", desc.ServiceName)
	}
	s.catalogue.RegisterService(desc, impl)
	s.services = append(s.services, service{desc, impl})
}

// register registers the services with a server that serves them. Serve has been called,
// so that services do not change any more.
func (s *Server) register(r grpc.ServiceRegistrar) {
	for _, v := range s.services {
		r.RegisterService(v.desc, v.impl)
	}
}

// GetServiceInfo is what is registered, as of a [grpc.Server].
func (s *Server) GetServiceInfo() map[string]grpc.ServiceInfo { return s.catalogue.GetServiceInfo() }

// unknown answers the calls of methods that are not registered as grpc.Server does, but
// after the HTTP filters.
func (s *Server) unknown(_ any, ss grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(ss)
	return status.Errorf(codes.Unimplemented, "unknown method %s", method)
}

// Serve serves on a listening socket, which it closes, as the Listener resource for its
// address says. Note that net.Listen("tcp", "0.0.0.0:8080") listens on [::]:8080: the server
// asks for the Listener of [::]:8080, and that Listener must have this address (A36). For
// 0.0.0.0:8080 use net.Listen("tcp4", "0.0.0.0:8080"); see also OtherAnyAddress of
// [ServerConfig].
//
// Until there is a Listener, and whenever there is none, connections are closed
// without a byte: Serve does not fail for want of a configuration, and control planes that
// cannot be reached change nothing. It may be called for several sockets at once.
//
// It returns nil after Stop or GracefulStop, and otherwise what keeps the socket from
// accepting connections; or, at once, that the socket's address is not one of TCP, or
// grpc.ErrServerStopped. What it has watched is not watched any more then.
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

// Stop closes all sockets and connections, cancels all calls, and makes Serve return nil.
// It ends a GracefulStop.
func (s *Server) Stop() { s.stop((*server.Port).Stop) }

// GracefulStop closes all sockets, makes Serve return nil, and returns when all calls that
// have started are over.
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
		s.catalogue.Stop()    // or channelz would keep it
		_ = s.scope.Release() // closing a client cannot fail
	})
}
