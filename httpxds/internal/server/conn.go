package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/httpxds/internal/netconn"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

// connKey is the key of the *conn in the context of a connection.
type connKey struct{}

// A conn is a connection of a filter chain. With TLS, it is below the *tls.Conn that http.Server needs.
type conn struct {
	*security.Conn
	chain  *chain
	shaken atomic.Bool // the TLS handshake is finished, or there is none
	closed atomic.Bool

	by          string // the URI of the server's certificate; set by the handshake
	described   sync.Once
	description string // of the client's certificate, for proxies
}

// connOf returns the conn of a connection that http.Server has accepted.
func connOf(c net.Conn) *conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*conn) //nolint:forcetypeassert // the lobby has no others
}

// accepted returns the connection for http.Server, with the TLS of the filter chain.
func (c *conn) accepted() net.Conn {
	if c.chain.tls == nil {
		return c
	}
	return tls.Server(c, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: c.config,
	})
}

// config returns the TLS of the handshake. It waits for certificates until the deadline of the handshake.
func (c *conn) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	config, err := c.ServerTLS()
	if err != nil {
		return nil, err
	}
	if config == nil {
		return nil, errors.New("httpxds: the filter chain has no TLS")
	}
	config.NextProtos = c.chain.protocols
	c.by = firstURI(config)
	return config, nil
}

// SetReadDeadline implements [net.Conn]. That of the handshake also limits the wait for certificates.
func (c *conn) SetReadDeadline(t time.Time) error {
	if !c.shaken.Load() {
		if t.IsZero() {
			c.shaken.Store(true)
		}
		return c.SetDeadline(t)
	}
	return c.Conn.SetReadDeadline(t)
}

// ReadFrom implements [io.ReaderFrom], so that http.Server can use sendfile.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(c.Conn.Conn, r)
}

// CloseWrite ends the direction to the client, as that of [net.TCPConn] does.
func (c *conn) CloseWrite() error { return netconn.CloseWrite(c.Conn.Conn) }

// Close implements [net.Conn].
func (c *conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.chain.remove(c)
	}
	return c.Conn.Close()
}

// chainOf returns the filter chain of a request.
func chainOf(ctx context.Context) *chain {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return nil
	}
	return c.chain
}
