package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

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

// Certificate returns the newest certificate of the server, or nil while there is none. It does not wait.
func (s *Server) Certificate() *x509.Certificate {
	if s.identity == nil || s.identity.err != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m, err := s.identity.KeyMaterial(ctx)
	if err != nil || len(m.Certs) == 0 {
		return nil
	}
	return m.Certs[0].Leaf
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

// A Conn is a connection that a server has accepted, with the TLS of its filter chain. Only
// credentials of this module read the TLS. To others it is the underlying connection.
type Conn struct {
	net.Conn
	server *Server

	open context.Context //nolint:containedctx // done when the connection is closed
	end  context.CancelFunc

	mu       sync.Mutex
	deadline time.Time
}

// NewConn makes a connection with the TLS of its chain; nil: the chain does not configure TLS. The
// Server must not be closed before the handshake has ended.
func NewConn(c net.Conn, server *Server) *Conn {
	open, end := context.WithCancel(context.Background())
	return &Conn{Conn: c, server: server, open: open, end: end}
}

// ServerTLS returns the TLS of the connection's handshake. It waits for certificates until the
// deadline of the connection, or until Close. It returns nil if the control plane did not configure
// TLS, so that the fallback is used.
func (c *Conn) ServerTLS() (*tls.Config, error) {
	if c.server == nil {
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	c.mu.Lock()
	deadline := c.deadline
	c.mu.Unlock()
	ctx := c.open
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	return c.server.config(ctx)
}

// SetDeadline implements [net.Conn]. The deadline also limits the wait for certificates.
func (c *Conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.Conn.SetDeadline(t)
}

// Close implements [net.Conn]. It also ends the wait for certificates.
func (c *Conn) Close() error {
	c.end()
	return c.Conn.Close()
}

// SyscallConn returns that of the underlying connection.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }

func syscallConn(c net.Conn) (syscall.RawConn, error) {
	if s, ok := c.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
