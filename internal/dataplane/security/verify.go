package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
	grpccert "google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// A verifier verifies the certificates of the peer.
type verifier struct {
	material *grpccert.KeyMaterial // nil: the system's roots (A82)
	usage    x509.ExtKeyUsage
	// names, unless nil, checks the names of the leaf.
	names func(leaf *x509.Certificate) error
}

// verify verifies the chain, and then the names of the leaf.
func (v *verifier) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("security: the other side has no certificate")
	}
	leaf := state.PeerCertificates[0]
	o := x509.VerifyOptions{Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{v.usage}}
	for _, c := range state.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	switch {
	case v.material == nil:
	case v.material.SPIFFEBundleMap != nil:
		var err error
		if o.Roots, err = v.domainRoots(leaf); err != nil {
			return err
		}
	default:
		o.Roots = v.material.Roots
	}
	if _, err := leaf.Verify(o); err != nil {
		return fmt.Errorf("security: %w", err)
	}
	if v.names == nil {
		return nil
	}
	return v.names(leaf)
}

// domainRoots returns the roots for the trust domain of a leaf, which must have a valid SPIFFE ID
// (A87).
func (v *verifier) domainRoots(leaf *x509.Certificate) (*x509.CertPool, error) {
	id, err := x509svid.IDFromCert(leaf)
	if err != nil {
		return nil, fmt.Errorf("security: the certificate is none of SPIFFE: %w", err)
	}
	if leaf.IsCA {
		return nil, fmt.Errorf("security: the certificate of %s is one of an authority; must be a leaf (A87)", id)
	}
	bundle, ok := v.material.SPIFFEBundleMap[id.TrustDomain().Name()]
	if !ok {
		return nil, fmt.Errorf("security: the trust domain of %s is not in the SPIFFE bundle map", id)
	}
	pool := x509.NewCertPool()
	for _, c := range bundle.X509Authorities() {
		pool.AddCert(c)
	}
	return pool, nil
}

// matchSANs requires that a name of the leaf matches the list, unless the list is empty (A29).
func matchSANs(list []matcher.String) func(*x509.Certificate) error {
	if len(list) == 0 {
		return nil
	}
	return func(leaf *x509.Certificate) error {
		for i := range list {
			m := &list[i]
			for _, name := range leaf.DNSNames {
				if name != "" && matchDNS(m, name) {
					return nil
				}
			}
			for _, name := range leaf.EmailAddresses {
				if name != "" && m.Match(name) {
					return nil
				}
			}
			for _, ip := range leaf.IPAddresses {
				if m.Match(ip.String()) {
					return nil
				}
			}
			for _, uri := range leaf.URIs {
				if name := uri.String(); name != "" && m.Match(name) {
					return nil
				}
			}
		}
		return errors.New("security: certificate check failure: no subject alternative name is one that the cluster accepts (A29)")
	}
}

// matchDNS matches a DNS name, which may have a wildcard (A29).
func matchDNS(m *matcher.String, name string) bool {
	if m.Kind == matcher.Exact {
		return isFor(name, m.Text)
	}
	return m.Match(name)
}

// isFor reports whether a DNS name of a certificate, perhaps with a wildcard, covers a host.
func isFor(name, host string) bool {
	return (&x509.Certificate{DNSNames: []string{name}}).VerifyHostname(host) == nil
}

// matchName requires that a DNS name of the leaf covers the name that was sent (A101).
func matchName(sni string) func(*x509.Certificate) error {
	return func(leaf *x509.Certificate) error {
		for _, name := range leaf.DNSNames {
			if isFor(name, sni) {
				return nil
			}
		}
		return fmt.Errorf("security: certificate check failure: no DNS name of the certificate is %q, the name that the client sent (A101)", sni)
	}
}
