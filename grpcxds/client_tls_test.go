package grpcxds_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"           // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// upstreamTLS is a transport socket that verifies servers by the roots of the instance "files", and
// their names.
func upstreamTLS(name string) string {
	return fmt.Sprintf(`name: "tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] {
		common_tls_context { validation_context {
			ca_certificate_provider_instance { instance_name: "files" } match_subject_alt_names { exact: %q } } } } }`, name)
}

// secured returns a plane with a target of one cluster and an Env. The backend has a certificate
// for server.example, and the Env has its roots.
func secured(t *testing.T) (*plane, *backend, *xdsforge.Env) {
	t.Helper()
	ca, err := testca.New("test")
	if err != nil {
		t.Fatal(err)
	}
	roots := filepath.Join(t.TempDir(), "ca.pem")
	if err := testca.Write(roots, ca.PEM()); err != nil {
		t.Fatal(err)
	}
	certificate, err := ca.Issue(x509.Certificate{DNSNames: []string{"server.example"}})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	b := newBackend(t, "tls", grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})))
	p.listener("svc", fmt.Sprintf(`route_config { name: "r" %s }`, hosts("svc", to("c"))))
	p.endpoints("e", b)
	return p, b, newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "certificate_providers": {"files": {
		"plugin_name": "file_watcher", "config": {"ca_certificate_file": %q}}}}`, p.entry(), roots))
}

// securely returns a channel that uses the TLS settings of the control plane.
func securely(t *testing.T, env *xdsforge.Env) *grpc.ClientConn {
	t.Helper()
	creds := grpcxds.ClientCredentials(insecure.NewCredentials())
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///svc", grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func (p *plane) securedCluster(socket string) {
	p.Helper()
	p.set("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } service_name: "e" } transport_socket { %s }`, socket)
}

// A cluster configures the TLS of its connections (A29). A change affects only new connections.
func TestClientTLS(t *testing.T) {
	p, _, env := secured(t)
	p.securedCluster(upstreamTLS("server.example"))
	cc := securely(t, env)
	var from peer.Peer
	if got, err := call(soon(t), cc, "/p.S/M", grpc.Peer(&from)); got != "tls" {
		t.Fatalf("answered by %q, %v", got, err)
	}
	if info, ok := from.AuthInfo.(credentials.TLSInfo); !ok || info.State.PeerCertificates[0].DNSNames[0] != "server.example" {
		t.Errorf("the connection is secured by %v", from.AuthInfo)
	}
	p.securedCluster(upstreamTLS("other.example"))
	refused := securely(t, env)
	for {
		_, err := call(soon(t), refused, "/p.S/M")
		if status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "cluster") {
			break
		}
		if err == nil { // the client has not received the change yet
			_ = refused.Close()
			refused = securely(t, env)
		}
	}
	if got, err := call(soon(t), cc, "/p.S/M"); got != "tls" {
		t.Errorf("on the connection that there was: %q, %v", got, err)
	}
}

// The channel reaches endpoints with a proxy through it, with the cluster's TLS (A86).
func TestClientProxy(t *testing.T) {
	p, b, env := secured(t)
	proxy := newProxy(t)
	const socket = `name: "proxy" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport] {
		transport_socket { %s } } }`
	p.securedCluster(fmt.Sprintf(socket, upstreamTLS("server.example")))
	p.set("e", new(endpointv3.ClusterLoadAssignment), `cluster_name: "e" endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } }
			metadata { typed_filter_metadata { key: "envoy.http11_proxy_transport_socket.proxy_address" value {
				[type.googleapis.com/envoy.config.core.v3.Address] { socket_address { address: "127.0.0.1" port_value: %d } } } } } } }`, b.port, proxy.port)
	if got, err := call(soon(t), securely(t, env), "/p.S/M"); got != "tls" {
		t.Fatalf("answered by %q, %v", got, err)
	}
	if want := fmt.Sprintf("127.0.0.1:%d", b.port); proxy.last.Load() != want {
		t.Errorf("the proxy received requests for %v; want %s", proxy.last.Load(), want)
	}
}

// The proxy connects to any requested address.
type proxy struct {
	port int
	last atomic.Value
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{port: l.Addr().(*net.TCPAddr).Port}
	s := &http.Server{Handler: p}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return p
}

// ServeHTTP answers CONNECT.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.last.Store(r.Host)
	out, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
	if err != nil || r.Method != http.MethodConnect {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	in, rest, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = out.Close()
		return
	}
	go func() {
		_, _ = io.Copy(out, rest)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
	_ = in.Close()
}
