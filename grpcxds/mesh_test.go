package grpcxds_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"                      // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"                       // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"                   // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// A mesh is a server and a client of one control plane, with certificates of one authority.
type mesh struct {
	testing.TB
	plane  *controlplane.Server
	env    *xdsforge.Env
	health healthpb.HealthClient
	ctx    context.Context
}

const (
	anyOf  = `[type.googleapis.com/envoy.extensions.`
	router = `http_filters { name: "router" typed_config { ` + anyOf + `filters.http.router.v3.Router] { } } } `
)

// read parses a message from its text.
func read[M proto.Message](t testing.TB, m M, text string) M {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mesh) set(name string, r proto.Message) {
	m.Helper()
	if err := m.plane.Set(name, r); err != nil {
		m.Fatal(err)
	}
}

// setClient sets the client's Listener, with filters before the router.
func (m *mesh) setClient(filters string) {
	m.Helper()
	m.set("shop", read(m, new(listenerv3.Listener), `name: "shop" api_listener { api_listener { `+anyOf+`filters.network.http_connection_manager.v3.HttpConnectionManager] {
		route_config { name: "r" virtual_hosts { name: "v" domains: "*" routes { match { prefix: "" } route { cluster: "c" } } } } `+filters+router+`} } }`))
}

// setCluster sets the client's cluster. Its servers must present a name.
func (m *mesh) setCluster(server string) {
	m.Helper()
	m.set("c", read(m, new(clusterv3.Cluster), fmt.Sprintf(`name: "c" type: EDS eds_cluster_config { eds_config { ads { } } }
		transport_socket { name: "envoy.transport_sockets.tls" typed_config { `+anyOf+`transport_sockets.tls.v3.UpstreamTlsContext] { common_tls_context {
			tls_certificate_provider_instance { instance_name: "client" }
			validation_context { ca_certificate_provider_instance { instance_name: "client" } match_subject_alt_names { exact: %q } } } } } }`, server)))
}

// setServer sets the server's Listener, with filters before the router.
func (m *mesh) setServer(addr net.Addr, filters string) {
	m.Helper()
	tcp := addr.(*net.TCPAddr)
	m.set("server/"+addr.String(), read(m, new(listenerv3.Listener), fmt.Sprintf(`name: "server/%s" address { socket_address { address: "127.0.0.1" port_value: %d } }
		filter_chains { filters { name: "m" typed_config { `+anyOf+`filters.network.http_connection_manager.v3.HttpConnectionManager] {
			route_config { name: "r" virtual_hosts { name: "v" domains: "*" routes { match { prefix: "" } non_forwarding_action { } } } } `+filters+router+`} } }
			transport_socket { name: "envoy.transport_sockets.tls" typed_config { `+anyOf+`transport_sockets.tls.v3.DownstreamTlsContext] {
				require_client_certificate { value: true } common_tls_context {
					tls_certificate_provider_instance { instance_name: "server" }
					validation_context { ca_certificate_provider_instance { instance_name: "server" } } } } } } }`, addr, tcp.Port)))
}

// provide writes a certificate with a SPIFFE ID for the instance of a name.
func provide(t testing.TB, ca *testca.CA, name string) bootstrap.CertificateProvider {
	t.Helper()
	dir := t.TempDir()
	c, err := ca.Issue(x509.Certificate{URIs: []*url.URL{{Scheme: "spiffe", Host: "mesh", Path: "/" + name}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := testca.WritePair(dir, c); err != nil {
		t.Fatal(err)
	}
	if err := testca.Write(filepath.Join(dir, "ca.pem"), ca.PEM()); err != nil {
		t.Fatal(err)
	}
	return bootstrap.CertificateProvider{PluginName: "file_watcher", Config: fmt.Appendf(nil,
		`{"certificate_file": "%[1]s/cert.pem", "private_key_file": "%[1]s/key.pem", "ca_certificate_file": "%[1]s/ca.pem"}`, dir)}
}

func newMesh(t testing.TB) *mesh {
	t.Helper()
	plane, err := controlplane.Start([]string{
		"envoy.config.listener.v3.Listener", "envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	ca, err := testca.New("mesh")
	if err != nil {
		t.Fatal(err)
	}
	b, err := bootstrap.New(bootstrap.Spec{
		Servers:                []bootstrap.ServerSpec{{URI: plane.Addr(), ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}}},
		ServerListenerTemplate: "server/%s",
		CertificateProviders:   map[string]bootstrap.CertificateProvider{"client": provide(t, ca, "client"), "server": provide(t, ca, "server")},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &mesh{TB: t, plane: plane}
	if m.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(b), xdsforge.WithTypes(grpcxds.Register), xdsforge.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.env.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	m.ctx = ctx
	return m
}

// start starts the server with filters, and the client.
func (m *mesh) start(filters string) {
	m.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.Fatal(err)
	}
	s, err := grpcxds.ServerConfig{Env: m.env}.NewServer(grpcxds.Creds(nil))
	if err != nil {
		m.Fatal(err)
	}
	healthpb.RegisterHealthServer(s, health.NewServer())
	served := make(chan struct{})
	go func() { _ = s.Serve(l); close(served) }()
	m.Cleanup(func() {
		s.Stop()
		<-served
	})
	m.setServer(l.Addr(), filters)
	m.set("c", read(m, new(endpointv3.ClusterLoadAssignment), fmt.Sprintf(`cluster_name: "c" endpoints { locality { } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } }`, l.Addr().(*net.TCPAddr).Port)))
	m.setCluster("spiffe://mesh/server")
	m.setClient("")
	m.health = m.dial()
}

// dial returns a new channel.
func (m *mesh) dial() healthpb.HealthClient {
	m.Helper()
	c, err := grpcxds.Dialer{Env: m.env}.NewClient("xds:///shop", grpcxds.WithCredentials(nil))
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { _ = c.Close() })
	return healthpb.NewHealthClient(c)
}

// await makes calls until one ends with the code.
func (m *mesh) await(want codes.Code, call func() error) {
	m.Helper()
	var err error
	for m.ctx.Err() == nil {
		if err = call(); status.Code(err) == want {
			return
		}
	}
	m.Fatalf("%v; want %v", err, want)
}

func (m *mesh) check() error {
	_, err := m.health.Check(m.ctx, new(healthpb.HealthCheckRequest), grpc.WaitForReady(true))
	return err
}

func (m *mesh) list() error {
	_, err := m.health.List(m.ctx, new(healthpb.HealthListRequest), grpc.WaitForReady(true))
	return err
}

// One control plane configures TLS, authorization and faults of server and client.
func TestMesh(t *testing.T) {
	m := newMesh(t)
	m.start(`http_filters { name: "rbac" typed_config { ` + anyOf + `filters.http.rbac.v3.RBAC] { rules { policies { key: "p" value {
		permissions { url_path { path { suffix: "/Check" } } }
		principals { authenticated { principal_name { exact: "spiffe://mesh/client" } } } } } } } } } `)
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	if err := m.list(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("%v; want PERMISSION_DENIED", err)
	}

	m.setClient(`http_filters { name: "fault" typed_config { ` + anyOf + `filters.http.fault.v3.HTTPFault] { abort { grpc_status: 10 percentage { numerator: 100 } } } } } `)
	m.await(codes.Aborted, m.check)
	m.setClient("")
	m.await(codes.OK, m.check)

	// Existing connections stay when the settings for new connections change.
	m.setCluster("spiffe://mesh/other")
	m.await(codes.Unavailable, func() error {
		_, err := m.dial().Check(m.ctx, new(healthpb.HealthCheckRequest))
		return err
	})
	if err := m.check(); err != nil {
		t.Error(err)
	}
	if r := m.plane.Rejections(); len(r) > 0 {
		t.Errorf("rejected: %q", r)
	}
}
