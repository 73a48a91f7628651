package httpxds_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3" // for prototext

	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/testca"
)

const mutualTLS = `transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext] {
	require_client_certificate { value: true } common_tls_context {
		tls_certificate_provider_instance { instance_name: "files" }
		validation_context { ca_certificate_provider_instance { instance_name: "files" } } } } } }`

// withTLS adds TLS to the only filter chain.
func withTLS(chain string) string { return strings.TrimSuffix(chain, "}") + mutualTLS + "}" }

// A vault has the certificates of a server and of a client.
type vault struct {
	ca      *testca.CA
	client  tls.Certificate
	options string // of the bootstrap
}

func newVault(t *testing.T) *vault {
	t.Helper()
	dir := t.TempDir()
	ca, err := testca.New("ca")
	check(t, err)
	issue := func(name string) tls.Certificate {
		t.Helper()
		c, err := ca.Issue(x509.Certificate{DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
		check(t, err)
		return c
	}
	check(t, testca.WritePair(dir, issue("server.example")))
	check(t, testca.Write(filepath.Join(dir, "ca.pem"), ca.PEM()))
	return &vault{ca, issue("client.example"), fmt.Sprintf(`"certificate_providers": {"files": {"plugin_name": "file_watcher", "config": {
		"certificate_file": %q, "private_key_file": %q, "ca_certificate_file": %q}}},`,
		filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem"))}
}

// httpsClient returns a client that speaks HTTP/1.1 or HTTP/2 over TLS.
func (v *vault) httpsClient(t *testing.T, two bool, certificates ...tls.Certificate) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{RootCAs: v.ca.Pool(), Certificates: certificates, MinVersion: tls.VersionTLS12}}
	tr.Protocols.SetHTTP1(!two)
	tr.Protocols.SetHTTP2(two)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// A filter chain with TLS uses the certificates of the providers, by both protocols, and demands one of the client.
func TestTLS(t *testing.T) {
	v := newVault(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Proto, r.TLS.PeerCertificates[0].DNSNames[0], r.URL.Path) // the client reports errors
	})
	s := newSite(t, h, v.options, nil)
	s.listen(withTLS(chain("one", hosts(anyRoute))))
	s.serving("")
	https := func(r *http.Request) { r.URL.Scheme = "https" }
	for want, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		a, err := s.do(v.httpsClient(t, two, v.client), http.MethodGet, "/", https)
		if err != nil || a.body != want+" client.example /" {
			t.Errorf("by %s: %d %q, %v", want, a.code, a.body, err)
		}
	}
	if a, err := s.do(v.httpsClient(t, false), http.MethodGet, "/", https); err == nil {
		t.Errorf("a client without a certificate gets %d", a.code)
	}
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr) // it says nothing
	check(t, err)
	s.until("the Env shows the handshake", func() bool { return s.env.Servers()[0].Ports[0].Generations[0].Handshakes == 1 })
	_ = c.Close()
	s.until("the handshake has ended", func() bool { return s.env.Servers()[0].Ports[0].Generations[0].Handshakes == 0 })
}

// TestHandshakeErrorLog expects failed handshakes, which any client can cause, to be logged at Debug with the client's address
// and the reason.
func TestHandshakeErrorLog(t *testing.T) {
	v, other := newVault(t), newVault(t)
	var log lines
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := newSite(t, http.HandlerFunc(echo), v.options, nil, httpxds.WithLogger(logger))
	s.listen(withTLS(chain("one", hosts(anyRoute))))
	s.serving("")
	handshake := func(certificates ...tls.Certificate) func(net.Conn) {
		return func(c net.Conn) {
			config := &tls.Config{RootCAs: v.ca.Pool(), ServerName: "server.example", Certificates: certificates, MinVersion: tls.VersionTLS13}
			_ = tls.Client(c, config).HandshakeContext(s.ctx) // a client of TLS 1.3 does not wait for the server's decision
		}
	}
	for _, tt := range []struct {
		reason string
		client func(net.Conn)
	}{
		{"tls: client didn't provide a certificate", handshake()},
		{"certificate signed by unknown authority", handshake(other.client)},
		{"client sent an HTTP request to an HTTPS server", func(c net.Conn) {
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: site\r\n\r\n")
			check(t, err)
		}},
	} {
		c, err := new(net.Dialer).DialContext(s.ctx, "tcp", s.addr)
		check(t, err)
		tt.client(c)
		s.until("the failed handshake is logged: "+tt.reason, func() bool {
			return log.has(fmt.Sprintf(`level=DEBUG msg="a TLS handshake failed" error="http: TLS handshake error from %s: `, c.LocalAddr())) && log.has(tt.reason)
		})
		_ = c.Close()
	}
	if log.has("level=WARN") {
		t.Error("a failed handshake is logged at Warn")
	}
}
