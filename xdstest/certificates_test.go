package xdstest_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsforge/xdsforge/xdstest"
)

// The files have the authority, and a certificate with its key. A second certificate replaces the first one.
func TestCA(t *testing.T) {
	dir := t.TempDir()
	ca := xdstest.NewCA(t)
	for _, name := range []string{"one.example", "two.example"} {
		ca.WriteFiles(dir, ca.Issue(x509.Certificate{DNSNames: []string{name}}))
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		pem, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
		if err != nil || !roots.AppendCertsFromPEM(pem) || !roots.Equal(ca.Pool()) {
			t.Fatalf("%s: the roots in the file are not those of Pool (error %v)", name, err)
		}
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			opts := x509.VerifyOptions{DNSName: name, Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}
			if _, err := pair.Leaf.Verify(opts); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: xdstest.NewCA(t).Pool()}); err == nil {
			t.Errorf("%s: another authority verifies the certificate; want an error", name)
		}
	}
}
