package security

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

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
