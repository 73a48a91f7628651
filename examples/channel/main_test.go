package main

import (
	"net"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/xdstest"
)

// set publishes a resource in protobuf's text format.
func set[M proto.Message](t *testing.T, cp *xdstest.ControlPlane, m M, text string) {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	cp.Set(m)
}

// backend runs a gRPC server, and returns its port.
func backend(t *testing.T) uint32 {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(lis)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-served
	})
	return uint32(lis.Addr().(*net.TCPAddr).Port)
}

// TestChannel tests a gRPC channel against a control plane on loopback.
func TestChannel(t *testing.T) {
	cp := xdstest.Start(t, listener.Type(), route.Type(), cluster.Type(), endpoint.Type())
	set(t, cp, new(listenerv3.Listener), `name: "shop" api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { route_config_name: "shop" config_source { ads {} } }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		} } }`)
	set(t, cp, new(routev3.RouteConfiguration), `name: "shop" virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "checkout" } } }`)
	set(t, cp, new(clusterv3.Cluster), `name: "checkout" type: EDS eds_cluster_config { eds_config { ads {} } }`)
	cp.Set(endpoints("checkout", backend(t)))

	dialer := grpcxds.Dialer{Env: cp.Env(xdsforge.WithTypes(grpcxds.Register))}
	cc, err := dialer.NewClient("xds:///shop", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	check := func() error {
		_, err := grpc_health_v1.NewHealthClient(cc).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
		return err
	}
	if err := check(); err != nil {
		t.Fatalf("the call: %v", err)
	}

	set(t, cp, new(clusterv3.Cluster), `name: "checkout" type: STATIC`)
	cp.WantRejected(cluster.Type(), "type = STATIC")
	if err := check(); err != nil {
		t.Errorf("a call after the rejection: %v; want the last valid cluster to stay in use", err)
	}
}

// endpoints returns the endpoints of a cluster: one address on loopback.
func endpoints(name string, port uint32) *endpointv3.ClusterLoadAssignment {
	address := &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
		Locality: new(corev3.Locality), LoadBalancingWeight: wrapperspb.UInt32(1),
		LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}}}},
	}}}
}
