package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/framework/tlscontext"
)

// Service returns the TLS credentials of a channel to a service (A102), and the function that releases their providers.
// The certificate of the server must have the name of the target. Only Identity and Roots of the context are used.
func (p *Providers) Service(c *tlscontext.Client) (credentials.TransportCredentials, func()) {
	s := &serviceTLS{identity: p.acquire(c.Identity, identity), roots: p.acquire(c.Roots, roots)}
	return s, func() {
		s.identity.release()
		s.roots.release()
	}
}

// serviceTLS uses the newest certificates in each handshake.
type serviceTLS struct {
	identity, roots *lease
	serverName      string
}

var errNoRoots = errors.New("security: the service has no roots to verify servers by (A102)")

// ClientHandshake implements [credentials.TransportCredentials].
func (s *serviceTLS) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := s.config(ctx, authority)
	if err != nil {
		_ = conn.Close() // the error says why
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

// config returns the TLS of one handshake.
func (s *serviceTLS) config(ctx context.Context, authority string) (*tls.Config, error) {
	if s.roots == nil {
		return nil, errNoRoots
	}
	m, err := s.roots.material(ctx)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{RootCAs: m.Roots, MinVersion: tls.VersionTLS12}
	if m.SPIFFEBundleMap != nil {
		host := authority
		if h, _, err := net.SplitHostPort(authority); err == nil {
			host = h
		}
		v := verifier{material: m, usage: x509.ExtKeyUsageServerAuth, names: func(leaf *x509.Certificate) error { return leaf.VerifyHostname(host) }}
		c.InsecureSkipVerify, c.VerifyConnection = true, v.verify
	}
	if s.identity != nil {
		own, err := s.identity.material(ctx)
		if err != nil {
			return nil, err
		}
		c.Certificates = own.Certs
	}
	return c, nil
}

// ServerHandshake implements [credentials.TransportCredentials]. It fails, because these credentials are for clients.
func (*serviceTLS) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("security: these credentials are for clients only")
}

// Info implements [credentials.TransportCredentials]. The server name becomes the authority of the channel.
func (s *serviceTLS) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls", ServerName: s.serverName} //nolint:staticcheck // credentials still use it
}

// Clone implements [credentials.TransportCredentials].
func (s *serviceTLS) Clone() credentials.TransportCredentials {
	clone := *s
	return &clone
}

// OverrideServerName implements [credentials.TransportCredentials].
func (s *serviceTLS) OverrideServerName(name string) error {
	s.serverName = name
	return nil
}
