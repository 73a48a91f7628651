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

// A Conn is a connection that a server has accepted, with the TLS of its filter chain for
// the credentials that want to know it. For others it is the connection that it is made of.
type Conn struct {
	net.Conn
	server *Server

	open context.Context //nolint:containedctx // lasts as long as the connection
	end  context.CancelFunc

	mu       sync.Mutex
	deadline time.Time
}

// NewConn makes a connection with the TLS of its chain; nil: the chain says nothing of it.
// The Server must not be closed before the handshake is over.
func NewConn(c net.Conn, server *Server) *Conn {
	open, end := context.WithCancel(context.Background())
	return &Conn{Conn: c, server: server, open: open, end: end}
}

// ServerTLS is what the handshake of the connection goes by. It waits for certificates as
// long as the deadline of the connection allows, and until Close. Nil: the control plane
// says nothing of TLS, so that the fallback is to be used.
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

// SetDeadline is that of [net.Conn]; it holds for the waiting for certificates, too.
func (c *Conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.Conn.SetDeadline(t)
}

// Close is that of [net.Conn]; it ends the waiting for certificates, too.
func (c *Conn) Close() error {
	c.end()
	return c.Conn.Close()
}

// SyscallConn is that of the connection which it is made of.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }

func syscallConn(c net.Conn) (syscall.RawConn, error) {
	if s, ok := c.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
