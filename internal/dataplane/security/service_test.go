package security_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials"
	grpccert "google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// shakeWith runs the handshake of credentials with a server, and returns the error of the client and the number of its
// certificates.
func shakeWith(t *testing.T, creds credentials.TransportCredentials, authority string, server tls.Certificate) (int, error) {
	t.Helper()
	ours, theirs := connect(t)
	peers := make(chan int, 1)
	go func() {
		c := tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{server}, NextProtos: []string{"h2"}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12})
		_ = c.Handshake() // the client has the error
		peers <- len(c.ConnectionState().PeerCertificates)
		_ = theirs.Close()
	}()
	_, _, err := creds.ClientHandshake(t.Context(), authority, ours)
	_ = ours.Close()
	return <-peers, err
}

// The credentials of a service verify the chain and the name of the target, by roots or by SPIFFE bundles, and present the
// identity (A102).
func TestServiceTLS(t *testing.T) {
	ca, other := authority(t), authority(t)
	server := issue(t, ca, x509.Certificate{DNSNames: []string{"authz.example"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)}, URIs: []*url.URL{uri("spiffe://a/x")}}).Certs[0]
	for _, tt := range []struct {
		name      string
		roots     *grpccert.KeyMaterial
		context   tlscontext.Client
		authority string
		peers     int
		err       string
	}{
		{"a name", &grpccert.KeyMaterial{Roots: ca.Pool()}, tlscontext.Client{Roots: instance("roots")}, "authz.example:443", 0, ""},
		{"an address", &grpccert.KeyMaterial{Roots: ca.Pool()}, tlscontext.Client{Roots: instance("roots")}, "10.0.0.1:443", 0, ""},
		{"an identity", &grpccert.KeyMaterial{Roots: ca.Pool()}, tlscontext.Client{Roots: instance("roots"), Identity: instance("id")}, "authz.example", 1, ""},
		{"another name", &grpccert.KeyMaterial{Roots: ca.Pool()}, tlscontext.Client{Roots: instance("roots")}, "evil.example:443", 0, "evil.example"},
		{"other roots", &grpccert.KeyMaterial{Roots: other.Pool()}, tlscontext.Client{Roots: instance("roots")}, "authz.example:443", 0, "unknown authority"},
		{"bundles", bundles(t, map[string]*testca.CA{"a": ca}), tlscontext.Client{Roots: instance("roots")}, "authz.example:443", 0, ""},
		{"bundles and another name", bundles(t, map[string]*testca.CA{"a": ca}), tlscontext.Client{Roots: instance("roots")}, "evil.example:443", 0, "evil.example"},
		{"bundles of another domain", bundles(t, map[string]*testca.CA{"b": ca}), tlscontext.Client{Roots: instance("roots")}, "authz.example:443", 0, "SPIFFE bundle map"},
		{"no roots", nil, tlscontext.Client{}, "authz.example:443", 0, "no roots"},
		{"a broken instance", nil, tlscontext.Client{Roots: instance("broken")}, "authz.example:443", 0, "is broken"},
		{"a broken identity", &grpccert.KeyMaterial{Roots: ca.Pool()}, tlscontext.Client{Roots: instance("roots"), Identity: instance("broken")}, "authz.example:443", 0, "is broken"},
	} {
		s := newStore(t)
		s.set("roots", tt.roots)
		s.set("id", issue(t, ca, x509.Certificate{}))
		creds, release := s.providers().Service(&tt.context)
		peers, err := shakeWith(t, creds.Clone(), tt.authority, server)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || err == nil && peers != tt.peers {
			t.Errorf("%s: %v, %d client certificates; want %q and %d", tt.name, err, peers, tt.err, tt.peers)
		}
		release()
		if s.started.Load() != s.stopped.Load() {
			t.Errorf("%s: %d providers started, %d stopped after the release", tt.name, s.started.Load(), s.stopped.Load())
		}
	}
}

// The credentials of a service are for clients. They tell gRPC another server name, which becomes the authority.
func TestServiceTLSOverride(t *testing.T) {
	ca := authority(t)
	s := newStore(t)
	s.set("roots", &grpccert.KeyMaterial{Roots: ca.Pool()})
	creds, release := s.providers().Service(&tlscontext.Client{Roots: instance("roots")})
	defer release()
	if _, _, err := creds.ServerHandshake(nil); err == nil {
		t.Error("ServerHandshake: no error")
	}
	if err := creds.OverrideServerName("authz.example"); err != nil { //nolint:staticcheck // the interface has it
		t.Fatal(err)
	}
	if i := creds.Clone().Info(); i.ServerName != "authz.example" || i.SecurityProtocol != "tls" { //nolint:staticcheck // credentials still use it
		t.Errorf("Info = %+v; want authz.example and tls", i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := s.providers().Service(&tlscontext.Client{Roots: instance("late")})
	defer stop()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	if _, _, err := late.ClientHandshake(ctx, "authz.example:443", ours); err == nil {
		t.Error("roots that are late: no error at the end of the context")
	}
}

// Certificate returns the newest certificate, and does not wait for the first one.
func TestCertificate(t *testing.T) {
	s := newStore(t)
	p := s.providers()
	server := p.Server(&tlscontext.Server{Identity: instance("id")})
	defer server.Close()
	if c := server.Certificate(); c != nil {
		t.Errorf("before the first certificate: %v; want nil", c.Subject)
	}
	for _, name := range []string{"one", "two"} {
		s.set("id", issue(t, authority(t), x509.Certificate{DNSNames: []string{name}}))
		if c := server.Certificate(); c == nil || c.DNSNames[0] != name {
			t.Errorf("Certificate = %v; want the one of %s", c, name)
		}
	}
	broken := p.Server(&tlscontext.Server{Identity: instance("broken")})
	defer broken.Close()
	if c := broken.Certificate(); c != nil {
		t.Errorf("a broken instance: %v; want nil", c.Subject)
	}
}
