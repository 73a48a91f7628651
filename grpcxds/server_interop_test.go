package grpcxds

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"

	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// everything has all types that a control plane serves to clients and servers.
var everything = []string{
	listenerMessage, routeMessage,
	"envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment",
}

// newInteropWorld returns a secure world whose control plane serves everything.
func newInteropWorld(t *testing.T) (*world, *vault) {
	t.Helper()
	v := newVault(t)
	plane, err := controlplane.Start(everything)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	return newWorldOf(t, plane, v.bootstrap(plane)), v
}

// emptyCalls are the routes of a server that serves only EmptyCall.
const emptyCalls = `virtual_hosts { domains: "shop" routes { match { path: "/grpc.testing.TestService/EmptyCall" } non_forwarding_action {} } }`

// publishTarget publishes the resources that clients need to call xds:///shop on the given servers,
// with TLS.
func (w *world) publishTarget(servers ...*site) {
	w.Helper()
	w.publishListener(`name: "shop" api_listener { api_listener { ` + managerAny + ` { ` + rds("client-routes") + routerFilter + ` } } }`)
	w.publishRoutes("client-routes", `virtual_hosts { domains: "shop" routes { match { prefix: "" } route { cluster: "shop" } } }`)
	w.publish(new(clusterv3.Cluster), `name: "shop" type: EDS eds_cluster_config { eds_config { ads {} } service_name: "shop" }
		transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] { common_tls_context {
			tls_certificate_provider_instance { instance_name: "files" }
			validation_context { ca_certificate_provider_instance { instance_name: "files" } } } } } }`)
	var endpoints strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&endpoints, `lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } `, s.port)
	}
	w.publishAs("shop", new(endpointv3.ClusterLoadAssignment),
		`cluster_name: "shop" endpoints { locality { region: "r" } load_balancing_weight { value: 1 } `+endpoints.String()+`}`)
}

// Our channel calls our server and grpc-go's own server. One control plane configures all three,
// including TLS.
func TestChannelOfBothServers(t *testing.T) {
	w, _ := newInteropWorld(t)
	sites := []*site{w.serve(Creds(nil)), w.serveGRPC(w.config)}
	w.publishRoutes("server-routes", emptyCalls)
	for _, s := range sites {
		w.publishListener(withTLS(s.listener(rds("server-routes"))))
		s.awaitServing()
	}
	w.publishTarget(sites...)
	cc, err := Dialer{Env: w.env}.NewClient("xds:///shop", WithCredentials(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	c := testpb.NewTestServiceClient(cc)
	for called := make(map[string]bool); len(called) < len(sites); {
		var p peer.Peer
		if st := sites[0].call(c, grpc.WaitForReady(true), grpc.Peer(&p)); st.Code() != codes.OK {
			t.Fatalf("after %v: %v; want OK", called, st)
		}
		called[p.Addr.String()] = true
	}
	for range sites { // by turns
		if _, err := c.UnaryCall(w.ctx, new(testpb.SimpleRequest)); status.Code(err) != codes.Unavailable {
			t.Errorf("%v; want that the server has no route", err)
		}
	}
}

// grpc-go's own xDS client calls our server. One control plane configures the TLS of both.
func TestClientOfGRPC(t *testing.T) {
	w, _ := newInteropWorld(t)
	s := w.serve(Creds(nil))
	w.publishListener(withTLS(s.listener(rds("server-routes"))))
	w.publishRoutes("server-routes", emptyCalls)
	w.publishTarget(s)
	s.awaitServing()

	resolver, err := xds.NewXDSResolverWithConfigForTesting([]byte(w.config))
	if err != nil {
		t.Fatal(err)
	}
	creds, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	cc, err := grpc.NewClient("xds:///shop", grpc.WithResolvers(resolver), grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	c := testpb.NewTestServiceClient(cc)
	if st := s.call(c, grpc.WaitForReady(true)); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
	ss, err := c.FullDuplexCall(s.ctx)
	if err == nil {
		_, err = ss.Recv()
	}
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no route") {
		t.Errorf("%v; want that the server has no route", err)
	}
}

// Our resources and bootstrap configure grpc-go's own xDS server without changes, and both servers
// behave alike. Only ours ignores the case of authorities, as domains are compared.
func TestServerOfGRPC(t *testing.T) {
	w, v := newInteropWorld(t)
	ours := w.serve(Creds(nil))
	theirs := w.serveGRPC(w.config)
	const routes = `
		virtual_hosts { domains: "shop"
			routes { match { prefix: "/" headers { name: "kind" string_match { exact: "denied" } } } route { cluster: "c" } }
			routes { match { path: "/grpc.testing.TestService/EmptyCall" } non_forwarding_action {} } }
		virtual_hosts { domains: "*.shop" ` + anyRoute + ` }`
	w.publishRoutes("routes", routes)
	for _, s := range []*site{ours, theirs} {
		w.publishListener(withTLS(s.listener(`http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] {
			rules { action: DENY policies { key: "mallory" value { permissions { any: true }
				principals { header { name: "user" string_match { exact: "mallory" } } } } } } } } }` + rds("routes"))))
		s.awaitServing()
	}
	// The test checks the authority, not the server's name.
	creds := credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{v.issue("client")}, MinVersion: tls.VersionTLS12})
	for _, c := range []struct {
		authority, method string
		headers           []string
		code              codes.Code
	}{
		{"shop", "EmptyCall", nil, codes.OK},
		{"shop", "UnaryCall", nil, codes.Unavailable},
		{"shop", "EmptyCall", []string{"kind", "denied"}, codes.Unavailable},
		{"shop", "EmptyCall", []string{"user", "mallory"}, codes.PermissionDenied},
		{"a.shop", "UnaryCall", nil, codes.Unimplemented},
		{"a.shop", "EmptyCall", nil, codes.OK},
		{"other", "EmptyCall", nil, codes.Unavailable},
	} {
		for name, s := range map[string]*site{"ours": ours, "theirs": theirs} {
			cc := s.channel(grpc.WithAuthority(c.authority), grpc.WithTransportCredentials(creds))
			err := cc.Invoke(metadata.AppendToOutgoingContext(s.ctx, c.headers...), "/grpc.testing.TestService/"+c.method, &testpb.Empty{}, &testpb.Empty{})
			if status.Code(err) != c.code {
				t.Errorf("%s: %s %s %v: %v; want %v", name, c.authority, c.method, c.headers, err, c.code)
			}
		}
	}
}

// serveGRPC runs grpc-go's own xDS server until the test ends.
func (w *world) serveGRPC(config string) *site {
	w.Helper()
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	return w.serveGRPCOn(lis, config)
}

func (w *world) serveGRPCOn(lis net.Listener, config string) *site {
	w.Helper()
	s := &site{world: w, addr: lis.Addr().String(), port: lis.Addr().(*net.TCPAddr).Port, events: make(chan event, 100)}
	s.name = "server/" + s.addr
	creds, err := xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		w.Fatal(err)
	}
	server, err := xds.NewGRPCServer(grpc.Creds(creds), xds.BootstrapContentsForTesting([]byte(config)),
		xds.ServingModeCallback(func(_ net.Addr, a xds.ServingModeChangeArgs) {
			if a.Mode == connectivity.ServingModeServing {
				s.events <- event{Serving, nil}
			}
		}))
	if err != nil {
		w.Fatal(err)
	}
	testpb.RegisterTestServiceServer(server, echo{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	w.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			w.Errorf("Serve: %v", err)
		}
	})
	return s
}
