// Package testca creates certificate authorities and certificates for tests and examples,
// so that no file with an expiring certificate is needed.
package testca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// A CA is a certificate authority. It is safe for concurrent use.
type CA struct {
	Certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New creates an authority with a name. It is valid for a day.
func New(name string) (*CA, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("testca: %w", err)
	}
	der, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("testca: %w", err)
	}
	return &CA{c, key}, nil
}

// Pool returns a pool with only this authority.
func (ca *CA) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(ca.Certificate)
	return p
}

// PEM returns the authority's certificate in PEM.
func (ca *CA) PEM() []byte { return encode("CERTIFICATE", ca.Certificate.Raw) }

// Issue creates a certificate from a template with a subject and names. By default it is
// valid for a day, for servers and clients. The result has Leaf set.
func (ca *CA) Issue(template x509.Certificate) (tls.Certificate, error) {
	if template.ExtKeyUsage == nil {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("testca: %w", err)
	}
	der, err := sign(&template, ca.Certificate, key, ca.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("testca: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("testca: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return nil, fmt.Errorf("testca: %w", err)
	}
	return der, nil
}

// WritePair writes a certificate from [CA.Issue] and its key to cert.pem and key.pem in a
// folder. It replaces each file atomically.
func WritePair(dir string, c tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return fmt.Errorf("testca: %w", err)
	}
	if err := Write(filepath.Join(dir, "key.pem"), encode("PRIVATE KEY", key)); err != nil {
		return err
	}
	return Write(filepath.Join(dir, "cert.pem"), encode("CERTIFICATE", c.Certificate[0]))
}

// Write replaces a file atomically, so that nobody reads a part of it.
func Write(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("testca: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("testca: %w", err)
	}
	return nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
