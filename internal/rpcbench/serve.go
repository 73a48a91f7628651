package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/echo"
	"github.com/xdsforge/xdsforge/internal/fakeauthz"
	"github.com/xdsforge/xdsforge/internal/fakeextproc"
	"github.com/xdsforge/xdsforge/internal/process"
)

// Addresses are those of the backend, of the control plane, of the authorization server and of the processor.
type Addresses struct{ Backend, Plane, Authz, Proc string }

// A server is the process that has the backend and the control plane.
type server struct {
	*process.Child
	Addresses
}

func startServer(ctx context.Context) (s server, err error) {
	if s.Child, err = process.Start(ctx, "-serve"); err == nil {
		err = s.Call("Where", nil, &s.Addresses)
	}
	return s, err
}

// served is the receiver of the server's process.
type served struct {
	plane *controlplane.Server
	at    Addresses
}

// Where returns the addresses.
func (s *served) Where(_ struct{}, at *Addresses) error { //nolint:unparam // net/rpc requires a result
	*at = s.at
	return nil
}

// Count returns the numbers of connections and of streams to the control plane so far.
func (s *served) Count(_ struct{}, counts *[2]int) error { //nolint:unparam // net/rpc requires a result
	*counts = [2]int{s.plane.Connections(), s.plane.Streams()}
	return nil
}

// serve runs the backend and the control plane until the parent process stops it.
func serve(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "0.0.0.0:0") // every 127.x.y.z leads here
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	testpb.RegisterTestServiceServer(s, echo.Server{})
	go func() { _ = s.Serve(l) }()                            // it ends with the process
	plane, err := controlplane.Start(controlplane.Standard()) //nolint:contextcheck // it ends with the process
	if err != nil {
		return err
	}
	authz, err := fakeauthz.Start() //nolint:contextcheck // it ends with the process
	if err != nil {
		return err
	}
	proc, err := fakeextproc.Start() //nolint:contextcheck // it ends with the process
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := errors.Join(configure(plane, port), filterTargets(plane, authz.Addr(), proc.Addr()), enlarge(plane, port), multiply(plane)); err != nil {
		return err
	}
	return process.Serve(&served{plane, Addresses{fmt.Sprintf("127.0.0.1:%d", port), plane.Addr(), authz.Addr(), proc.Addr()}})
}

// configure sends the target "svc" to the port, by one of three routes.
func configure(plane *controlplane.Server, port int) error {
	var errs []error
	set := func(name string, m proto.Message, format string, args ...any) {
		errs = append(errs, plane.SetText(name, m, format, args...))
	}
	set("svc", new(listenerv3.Listener), `name: "svc" api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
			route_config { virtual_hosts { domains: "*"
				routes { match { path: "/other.Service/Method" } route { cluster: "c" } }
				routes { match { prefix: "/another.Service/" } route { cluster: "c" } }
				routes { match { prefix: "" } route { cluster: "c" } } } } } } }`)
	set("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } }`)
	set("c", new(endpointv3.ClusterLoadAssignment), `cluster_name: "c" endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } }`, port)
	return errors.Join(errs...)
}
