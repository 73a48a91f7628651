package grpcxds

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// A vault has the certificates of a server and its clients.
type vault struct {
	testing.TB
	ca  *testca.CA
	dir string // the directory that the server's certificate provider watches
}

func newVault(t testing.TB) *vault {
	t.Helper()
	ca, err := testca.New("test")
	if err != nil {
		t.Fatal(err)
	}
	v := &vault{TB: t, ca: ca, dir: t.TempDir()}
	if err := testca.Write(filepath.Join(v.dir, "ca.pem"), ca.PEM()); err != nil {
		t.Fatal(err)
	}
	v.rotate("first")
	return v
}

func (v *vault) issue(name string) tls.Certificate {
	v.Helper()
	c, err := v.ca.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{"server.example"}})
	if err != nil {
		v.Fatal(err)
	}
	return c
}

// rotate writes another certificate for the server.
func (v *vault) rotate(name string) {
	v.Helper()
	if err := testca.WritePair(v.dir, v.issue(name)); err != nil {
		v.Fatal(err)
	}
}

// client returns the credentials of a client that presents a certificate.
func (v *vault) client() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		RootCAs: v.ca.Pool(), ServerName: "server.example", MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{v.issue("client")},
	})
}

// newSecureWorld returns a world with a certificate provider instance "files".
func newSecureWorld(t testing.TB, opts ...xdsforge.Option) (*world, *vault) {
	t.Helper()
	v := newVault(t)
	plane, err := controlplane.Start([]string{listenerMessage, routeMessage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	return newWorldOf(t, plane, v.bootstrap(plane), opts...), v
}

// bootstrap has a control plane and the server's certificate provider.
func (v *vault) bootstrap(plane *controlplane.Server) string {
	return fmt.Sprintf(`{"node": {"id": "web-1"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}],
		"certificate_providers": {"files": {"plugin_name": "file_watcher", "config": {
			"certificate_file": %q, "private_key_file": %q, "ca_certificate_file": %q, "refresh_interval": "0.05s"}}}}`,
		plane.Addr(), filepath.Join(v.dir, "cert.pem"), filepath.Join(v.dir, "key.pem"), filepath.Join(v.dir, "ca.pem"))
}

// mutualTLS is the transport socket of a filter chain that requests client certificates.
const mutualTLS = `transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext] {
	require_client_certificate { value: true } common_tls_context {
		tls_certificate_provider_instance { instance_name: "files" }
		validation_context { ca_certificate_provider_instance { instance_name: "files" } } } } } }`

// withTLS adds mutual TLS to the filter chain of a Listener.
func withTLS(listener string) string {
	return strings.Replace(listener, "filter_chains {", "filter_chains { "+mutualTLS, 1)
}

// Certificates come from instances of the bootstrap and are rotated under calls (A29).
func TestServerCredentials(t *testing.T) {
	w, v := newSecureWorld(t)
	s := w.serve(Creds(insecure.NewCredentials()))
	w.publishListener(withTLS(s.listener(inline(anyRoute))))
	s.awaitServing()
	secure := grpc.WithTransportCredentials(v.client())
	c := s.dial(secure)
	ss := s.openStream(c)
	if got := serverOf(t, s, c); got != "first" {
		t.Errorf("the server is %q", got)
	}
	v.rotate("second")
	w.eventually("the second certificate", func() bool { return serverOf(t, s, s.dial(secure)) == "second" })
	ping(t, ss)
	finish(t, ss)
	if st := s.call(s.dial()); st.Code() != codes.Unavailable {
		t.Errorf("without TLS: %v; want UNAVAILABLE", st)
	}
	nobody := credentials.NewTLS(&tls.Config{RootCAs: v.ca.Pool(), ServerName: "server.example", MinVersion: tls.VersionTLS12})
	if st := s.call(s.dial(grpc.WithTransportCredentials(nobody))); st.Code() != codes.Unavailable {
		t.Errorf("without a certificate: %v; want UNAVAILABLE", st)
	}
	// A chain without TLS uses the fallback.
	w.publishListener(s.listener(inline(anyRoute)))
	plain := s.dial()
	w.eventually("the fallback", func() bool { return s.call(plain).Code() == codes.OK })
}

// serverOf returns the common name in the server's certificate.
func serverOf(t testing.TB, s *site, c testpb.TestServiceClient) string {
	t.Helper()
	var p peer.Peer
	if st := s.call(c, grpc.Peer(&p)); st.Code() != codes.OK {
		t.Fatal(st)
	}
	return p.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].Subject.CommonName
}

// Other credentials apply, whatever the filter chain configures (A36).
func TestOtherCredentialsAreHonoured(t *testing.T) {
	w, v := newSecureWorld(t)
	own := &tls.Config{Certificates: []tls.Certificate{v.issue("own")}, MinVersion: tls.VersionTLS12}
	s := w.serve(grpc.Creds(credentials.NewTLS(own)))
	w.publishListener(withTLS(s.listener(inline(anyRoute))))
	s.awaitServing()
	if got := serverOf(t, s, s.dial(grpc.WithTransportCredentials(v.client()))); got != "own" {
		t.Errorf("the server is %q; want its own", got)
	}
}

// The client NACKs a Listener that names an instance missing in the bootstrap.
func TestUnknownProviderInstance(t *testing.T) {
	w, _ := newSecureWorld(t)
	s := w.serve(Creds(insecure.NewCredentials()))
	w.publishListener(strings.ReplaceAll(withTLS(s.listener(inline(anyRoute))), `"files"`, `"none"`))
	if e := s.await(); e.mode != NotServing || !strings.Contains(e.err.Error(), "certificate_providers") {
		t.Errorf("%v: %v; want the reason", e.mode, e.err)
	}
}
