package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/echo"
	"github.com/xdsforge/xdsforge/internal/process"
)

// A server is the process that has the server and the control plane.
type server struct {
	*process.Child
	backend, plane string
}

func startServer(ctx context.Context) (*server, error) {
	c, err := process.Start(ctx, "-serve")
	if err != nil {
		return nil, err
	}
	line, err := c.Line()
	if err != nil {
		return nil, err
	}
	s := &server{Child: c}
	s.backend, s.plane, _ = strings.Cut(line, " ")
	return s, nil
}

// serve runs the server and the control plane until the input ends.
func serve() error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "0.0.0.0:0") // every 127.x.y.z leads here
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	testpb.RegisterTestServiceServer(s, echo.Server{})
	go func() { _ = s.Serve(l) }() // it ends with the process
	plane, err := controlplane.Start(controlplane.Standard())
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := errors.Join(configure(plane, port), enlarge(plane, port), multiply(plane)); err != nil {
		return err
	}
	fmt.Printf("127.0.0.1:%d %s\n", port, plane.Addr())
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() { // each line asks for the counts
		fmt.Println(plane.Connections(), plane.Streams())
	}
	return in.Err()
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
