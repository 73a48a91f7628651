package xdstest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"path/filepath"
	"testing"

	"github.com/xdsforge/xdsforge/internal/testca"
)

// A CA is a certificate authority for tests of TLS. Its certificates are valid for a day. Its methods fail the test if they
// cannot do their work. Call them on the goroutine of the test.
type CA struct {
	t  testing.TB
	ca *testca.CA
}

// NewCA creates an authority.
func NewCA(t testing.TB) *CA {
	t.Helper()
	ca, err := testca.New("xdstest")
	if err != nil {
		t.Fatalf("xdstest: %v", err)
	}
	return &CA{t, ca}
}

// Issue creates a certificate for servers and clients. The template has its subject and names, such as DNSNames and the
// SPIFFE ID in URIs.
func (c *CA) Issue(template x509.Certificate) tls.Certificate {
	c.t.Helper()
	cert, err := c.ca.Issue(template)
	if err != nil {
		c.t.Fatalf("xdstest: %v", err)
	}
	return cert
}

// Pool returns a pool with only this authority, for [tls.Config].
func (c *CA) Pool() *x509.CertPool { return c.ca.Pool() }

// WriteFiles writes ca.pem, cert.pem and key.pem to a directory, for the certificate provider file_watcher. It replaces
// each file atomically, so that a test can rotate the certificates of a running program.
func (c *CA) WriteFiles(dir string, cert tls.Certificate) {
	c.t.Helper()
	if err := errors.Join(testca.Write(filepath.Join(dir, "ca.pem"), c.ca.PEM()), testca.WritePair(dir, cert)); err != nil {
		c.t.Fatalf("xdstest: %v", err)
	}
}
