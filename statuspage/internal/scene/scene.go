// Package scene is a program under observation, for the tests of the status page: a control plane on
// loopback, two gRPC channels with their backends, a gRPC server and a client with many resources. Each
// [Scene.Play] brings the program into another state.
package scene

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/echo"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Scene is the running program.
type Scene struct {
	// Env is the environment to show.
	Env *xdsforge.Env
	// Plane is the control plane. Only one goroutine may use it through the Scene.
	Plane *memoryads.Server
	// Catalogue is the control plane of the client "catalogue".
	Catalogue *memoryads.Server

	channels map[string]*grpc.ClientConn
	backends []int // ports
	server   *grpcxds.Server
	address  string
	serving  chan bool
	closers  []func() error
}

// Start starts the program in a healthy state. The client "catalogue" watches the given number of
// resources.
func Start(ctx context.Context, resources int) (s *Scene, err error) {
	s = &Scene{channels: make(map[string]*grpc.ClientConn), serving: make(chan bool, 100)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.connect(); err != nil { //nolint:contextcheck // control planes run until Close
		return nil, err
	}
	for range 4 {
		port, err := s.backend(ctx)
		if err != nil {
			return nil, err
		}
		s.backends = append(s.backends, port)
	}
	if err := errors.Join(s.publish(), s.serve(ctx), s.dial(ctx), s.catalogue(ctx, resources)); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the program.
func (s *Scene) Close() error {
	var errs []error
	for _, f := range slices.Backward(s.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (s *Scene) onClose(f func() error) { s.closers = append(s.closers, f) }

// connect starts the control plane and makes the environment.
func (s *Scene) connect() error {
	s.Plane = memoryads.NewServer(
		memoryads.Type{URL: listener.Type().URL(), Complete: true, Wildcard: true}, memoryads.Type{URL: route.Type().URL()},
		memoryads.Type{URL: cluster.Type().URL(), Complete: true, Wildcard: true}, memoryads.Type{URL: endpoint.Type().URL()})
	addr, err := s.listen(s.Plane)
	if err != nil {
		return err
	}
	s.Catalogue = memoryads.NewServer(memoryads.Type{URL: endpoint.Type().URL()})
	catalogue, err := s.listen(s.Catalogue)
	if err != nil {
		return err
	}
	const server = `{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds.transport.delta"]}`
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "web-1", "cluster": "demo"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [`+server+`], "authorities": {"catalogue": {"xds_servers": [`+server+`]}}}`, addr, catalogue))
	if err != nil {
		return err
	}
	s.Env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register), xdsforge.WithPrivateConnections(),
		xdsforge.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	s.onClose(s.Env.Close)
	return nil
}

// listen serves a control plane on loopback.
func (s *Scene) listen(plane *memoryads.Server) (addr string, err error) {
	addr, stop, err := plane.Listen()
	if err == nil {
		s.onClose(func() error { stop(); return nil })
	}
	return addr, err
}

// backend starts a backend and returns its port.
func (s *Scene) backend(ctx context.Context) (int, error) {
	lis, err := listen(ctx)
	if err != nil {
		return 0, err
	}
	g := grpc.NewServer()
	testpb.RegisterTestServiceServer(g, echo.Server{})
	done := make(chan error, 1)
	go func() { done <- g.Serve(lis) }()
	s.onClose(func() error { g.Stop(); return <-done })
	return lis.Addr().(*net.TCPAddr).Port, nil
}

func listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}

// serve starts the gRPC server.
func (s *Scene) serve(ctx context.Context) error {
	lis, err := listen(ctx)
	if err != nil {
		return err
	}
	s.address = lis.Addr().String()
	s.server, err = grpcxds.ServerConfig{Env: s.Env, ModeChanged: func(m grpcxds.ModeChange) {
		select {
		case s.serving <- m.Mode == grpcxds.Serving:
		default:
		}
	}}.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	testpb.RegisterTestServiceServer(s.server, echo.Server{})
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(lis) }()                //nolint:contextcheck // it runs until Close
	s.onClose(func() error { s.server.Stop(); return <-done }) //nolint:contextcheck // the same
	if err := s.setServer(true); err != nil {
		return err
	}
	return s.awaitMode(ctx, true)
}

func (s *Scene) awaitMode(ctx context.Context, serving bool) error {
	for {
		select {
		case got := <-s.serving:
			if got == serving {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// dial opens the channels and makes a call by each cluster.
func (s *Scene) dial(ctx context.Context) error {
	for _, target := range []string{"xds:///checkout.example", "xds:///payments.example"} {
		cc, err := grpcxds.Dialer{Env: s.Env, Logger: slog.New(slog.DiscardHandler)}.NewClient(target, grpcxds.WithCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		s.onClose(cc.Close)
		s.channels[target] = cc
		for range 20 { // the weights of clusters are random
			if err := s.call(ctx, target); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Scene) call(ctx context.Context, target string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := testpb.NewTestServiceClient(s.channels[target]).EmptyCall(ctx, &testpb.Empty{}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("call to %s: %w", target, err)
	}
	return nil
}

// CatalogueName returns the name of a resource of the client "catalogue".
func CatalogueName(i int) string {
	return fmt.Sprintf("xdstp://catalogue/%s/service-%06d", endpoint.Type().Name(), i)
}

// catalogue starts a client that watches a glob collection with a number of resources.
func (s *Scene) catalogue(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	c, err := s.Env.NewNamedClient("catalogue")
	if err != nil {
		return err
	}
	s.onClose(c.Close)
	list := make([]memoryads.Resource, 0, n)
	for i := range n {
		body, err := proto.Marshal(&endpointv3.ClusterLoadAssignment{ClusterName: CatalogueName(i)})
		if err != nil {
			return err
		}
		list = append(list, memoryads.Resource{Name: CatalogueName(i), Body: body})
	}
	s.Catalogue.Set(endpoint.Type().URL(), list...)
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	complete, ended := make(chan struct{}), make(chan struct{})
	s.onClose(func() error { cancel(); <-ended; return nil })
	go func() {
		defer close(ended)
		members := 0
		for range endpoint.WatchCollection(watch, c, "xdstp://catalogue/"+endpoint.Type().Name()+"/*") {
			members++
			if members == n {
				close(complete)
			}
		}
	}()
	select {
	case <-complete:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// set publishes a resource that is given as text.
func (s *Scene) set(m proto.Message, format string, args ...any) error {
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		return err
	}
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	name, url := "", "type.googleapis.com/"+string(m.ProtoReflect().Descriptor().FullName())
	switch m := m.(type) {
	case *listenerv3.Listener:
		name = m.GetName()
	case *routev3.RouteConfiguration:
		name = m.GetName()
	case *clusterv3.Cluster:
		name = m.GetName()
	case *endpointv3.ClusterLoadAssignment:
		name = m.GetClusterName()
	}
	s.Plane.Set(url, memoryads.Resource{Name: name, Body: body})
	return nil
}
