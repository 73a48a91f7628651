package httpxds_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3" // for prototext

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// tlsWorld returns a world with a server of HTTP/1.1 and HTTP/2 that is called server.example, and its address. upstream returns
// the settings of a cluster whose servers must have a name.
func tlsWorld(t *testing.T) (w *world, addr string, upstream func(name string) string) {
	t.Helper()
	return tlsWorldOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "raw" {
			summarize(w, r)
			return
		}
		named("tls")(w, r)
	})
}

// tlsWorldOf is tlsWorld with the handler of the server.
func tlsWorldOf(t *testing.T, h http.HandlerFunc) (w *world, addr string, upstream func(name string) string) {
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
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)

	w = newWorld(t)
	w.trust(roots)
	return w, s.Listener.Addr().String(), func(name string) string {
		return fmt.Sprintf(`transport_socket { name: "tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] {
			common_tls_context { validation_context { ca_certificate_provider_instance { instance_name: "files" } match_subject_alt_names { exact: %q } } } } } }`, name)
	}
}

// trust makes the Env have a certificate provider with the roots of a file.
func (w *world) trust(roots string) {
	w.Helper()
	config, err := bootstrap.Parse([]byte(strings.TrimSuffix(string(w.plane.BootstrapJSON()), "}") + fmt.Sprintf(`,
		"certificate_providers": {"files": {"plugin_name": "file_watcher", "config": {"ca_certificate_file": %q}}}}`, roots)))
	check(w, err)
	w.env = w.plane.Env(xdsforge.WithBootstrap(config), xdsforge.WithTypes(httpxds.Register))
}

// TestClientTLS expects connections with the roots of the bootstrap's certificate providers, HTTP/2 by ALPN, and no request to
// a server with another name.
func TestClientTLS(t *testing.T) {
	w, addr, upstream := tlsWorld(t)
	w.cluster("good", upstream("server.example"), addr)
	w.cluster("bad", upstream("other.example"), addr)
	w.routes(`routes { match { prefix: "/bad" } route { cluster: "bad" } } %s`, to("good"))
	for _, tt := range []struct {
		protocol httpxds.Protocol
		url      string
		want     string
	}{
		{httpxds.Auto, "http://svc/", "tls HTTP/2.0"},
		{httpxds.Auto, "https://svc/", "tls HTTP/2.0"},
		{httpxds.HTTP1, "https://svc/", "tls HTTP/1.1"},
		{httpxds.HTTP2, "http://svc/", "tls HTTP/2.0"},
	} {
		if body, err := get(t, w.transport(httpxds.WithProtocol(tt.protocol)), tt.url); body != tt.want {
			t.Errorf("%s by protocol %d: %q, %v; want %q", tt.url, tt.protocol, body, err, tt.want)
		}
	}
	if body, err := get(t, w.transport(), "http://svc/bad"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server with another name: %q, %v; want an error about its certificate", body, err)
	}
}
