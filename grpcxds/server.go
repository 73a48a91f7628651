package grpcxds

import (
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds/internal/server"
)

// A Server is a gRPC server that control planes configure (gRFC A36): what it listens on
// has a Listener resource each, which says how connections are secured, which calls are
// taken, and what HTTP filters these go through. It takes the place of a [grpc.Server] in
// generated code and in package reflection, and is safe for concurrent use.
type Server struct {
	pool    *Pool
	ownPool bool
	scope   *scope
	config  server.Config

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
// of [grpc.NewServer], and those of this package for servers. Interceptors that come with
// grpc.ChainUnaryInterceptor and grpc.ChainStreamInterceptor see calls that were let
// through; those of grpc.UnaryInterceptor and grpc.StreamInterceptor see all, since grpc-go
// calls them before any other.
//
// It returns an error if there is no bootstrap or an invalid one. It also does if the
// bootstrap has no server_listener_resource_name_template, or one that makes names of another
// resource type or of an authority without control planes.
func NewServer(opts ...grpc.ServerOption) (*Server, error) {
	o := serverOptions{grace: server.DefaultGrace}
	var rest []grpc.ServerOption
	for _, opt := range opts {
		if own, ok := opt.(serverOption); ok {
			own.set(&o)
		} else if opt != nil {
			rest = append(rest, opt)
		}
	}
	s := &Server{pool: o.pool}
	if s.pool == nil {
		var err error
		if s.pool, err = NewPool(); err != nil {
			return nil, err
		}
		s.ownPool = true
	}
	if err := s.open(&o, rest); err != nil {
		s.closePool()
		return nil, err
	}
	s.catalogue = grpc.NewServer()
	return s, nil
}

// open checks that Listeners can be named, and acquires the client.
func (s *Server) open(o *serverOptions, rest []grpc.ServerOption) error {
	if err := checkTemplate(s.pool.config); err != nil {
		return err
	}
	logger := s.pool.logger
	if o.logger != nil {
		logger = o.logger
	}
	report := o.mode
	if report == nil {
		report = logModes(logger)
	}
	var err error
	if s.scope, err = s.pool.acquire(serverScope); err != nil {
		return err
	}
	s.config = server.Config{
		Client:         s.scope.Client,
		NodeID:         s.pool.config.Node().GetId(),
		Options:        append([]grpc.ServerOption{grpc.UnknownServiceHandler(s.unknown)}, rest...),
		Register:       s.register,
		Chains:         s.pool.chains,
		Providers:      s.pool.providers,
		Report:         func(addr net.Addr, err error) { report(addr, modeOf(err), err) },
		Grace:          o.grace,
		AnyAddress:     o.anyAddress,
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
// 0.0.0.0:8080 use net.Listen("tcp4", "0.0.0.0:8080"); see also [OtherAnyAddress].
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
	name, err := s.pool.config.ServerListenerName(lis.Addr().String())
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
		s.catalogue.Stop() // or channelz would keep it
		s.scope.release()
		s.closePool()
	})
}

// closePool closes a pool that is the server's own.
func (s *Server) closePool() {
	if s.ownPool {
		_ = s.pool.Close() // closing connections that are not needed
	}
}
