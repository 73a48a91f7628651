package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"

	"github.com/xdsforge/xdsforge/framework/tlscontext"
)

// A Server is the TLS of the connections of one filter chain. Its providers run until Close. Nil is
// valid, and means that the chain does not configure TLS.
type Server struct {
	identity, roots *lease
	require         bool
}

// Server prepares the TLS of a filter chain. It returns nil for nil. A provider that cannot be
// started makes handshakes fail.
func (p *Providers) Server(c *tlscontext.Server) *Server {
	if c == nil {
		return nil
	}
	return &Server{
		identity: p.acquire(c.Identity, identity),
		roots:    p.acquire(c.Roots, roots),
		require:  c.RequireClientCertificate,
	}
}

// Close releases the providers. Handshakes that still wait for one may fail.
func (s *Server) Close() {
	if s != nil {
		s.identity.release()
		s.roots.release()
	}
}

// config returns the TLS of one handshake, with the newest certificates. It disables session
// tickets, so that every connection verifies its peer again.
func (s *Server) config(ctx context.Context) (*tls.Config, error) {
	m, err := s.identity.material(ctx)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{Certificates: m.Certs, SessionTicketsDisabled: true, MinVersion: tls.VersionTLS12}
	if s.roots == nil {
		return c, nil
	}
	if m, err = s.roots.material(ctx); err != nil {
		return nil, err
	}
	if m.SPIFFEBundleMap == nil {
		c.ClientCAs, c.ClientAuth = m.Roots, tls.VerifyClientCertIfGiven
		if s.require {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
		return c, nil
	}
	c.ClientAuth = tls.RequestClientCert
	if s.require {
		c.ClientAuth = tls.RequireAnyClientCert
	}
	v := verifier{material: m, usage: x509.ExtKeyUsageClientAuth}
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return nil // a required certificate was checked earlier in the handshake
		}
		return v.verify(state)
	}
	return c, nil
}
