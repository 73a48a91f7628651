package xdsd

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"testing"

	"github.com/xdsforge/xdsforge/internal/testca"
)

// issue writes the files of TLS of an authority, and returns a configuration of clients.
func issue(t *testing.T, dir string, ca *testca.CA) *tls.Config {
	t.Helper()
	pair, err := ca.Issue(x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	})
	if err == nil {
		err = testca.WritePair(dir, pair)
	}
	if err == nil {
		err = testca.Write(filepath.Join(dir, "ca.pem"), ca.PEM())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: ca.Pool(), Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
}

// handshake connects with TLS. The server has accepted the certificate when it sends something.
func (d *daemon) handshake(t *testing.T, c *tls.Config) error {
	t.Helper()
	conn, err := (&tls.Dialer{Config: c}).DialContext(t.Context(), "tcp", d.addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Read(make([]byte, 1))
	return err
}

// The daemon demands certificates of clients. When the files change, the next connections use the new ones.
func TestReloadOfCertificates(t *testing.T) {
	dir := t.TempDir()
	first, err := testca.New("first")
	if err != nil {
		t.Fatal(err)
	}
	second, err := testca.New("second")
	if err != nil {
		t.Fatal(err)
	}
	old := issue(t, dir, first)
	file := func(name string) string { return filepath.Join(dir, name+".pem") }
	d := start(t, t.TempDir(), "-cert", file("cert"), "-key", file("key"), "-client-ca", file("ca"))
	if err := d.handshake(t, old); err != nil {
		t.Errorf("handshake: %v", err)
	}
	without := old.Clone()
	without.Certificates = nil
	if d.handshake(t, without) == nil {
		t.Error("a client without a certificate is accepted")
	}
	current := issue(t, dir, second)
	if err := d.handshake(t, current); err != nil {
		t.Errorf("handshake with the new files: %v", err)
	}
	old.RootCAs = current.RootCAs
	if d.handshake(t, old) == nil {
		t.Error("a certificate of the old authority is accepted")
	}
}
