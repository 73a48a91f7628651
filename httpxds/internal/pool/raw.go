package pool

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/httpxds/internal/netconn"
)

// A rawConn counts the bytes that are written, so that a request of which nothing was written can be sent again.
type rawConn struct {
	net.Conn
	written  atomic.Int64
	requests atomic.Int64
	closing  atomic.Bool // Close was called
	failed   atomic.Bool // a Read or a Write failed before
	leaving  atomic.Bool // TLS writes its last alert

	mu     sync.Mutex
	closed bool
	hook   *func() // of the last lease with one, or of the pool for HTTP/2; nil: none
}

func (c *rawConn) onClose(f func()) (remove func()) {
	hook := &f
	c.mu.Lock()
	c.hook = hook
	closed := c.closed
	c.mu.Unlock()
	if closed {
		f()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.hook == hook { // not that of the next lease
			c.hook = nil
		}
	}
}

// Close implements [net.Conn].
func (c *rawConn) Close() error {
	c.closing.Store(true)
	err := c.Conn.Close()
	c.mu.Lock()
	c.closed = true
	hook := c.hook
	c.mu.Unlock()
	if hook != nil {
		(*hook)()
	}
	return err
}

// Read implements [net.Conn].
func (c *rawConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.fail()
	}
	return n, err
}

// Write implements [net.Conn].
func (c *rawConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if !c.leaving.Load() {
		c.written.Add(int64(n))
	}
	if err != nil {
		c.fail()
	}
	return n, err
}

// SetWriteDeadline implements [net.Conn]. On connections of HTTP/1.1, only the Close of a [crypto/tls.Conn] calls it, before the
// alert that ends TLS. The alert is no part of a request. The bytes of HTTP/2 decide about no repetition.
func (c *rawConn) SetWriteDeadline(t time.Time) error {
	c.leaving.Store(true)
	return c.Conn.SetWriteDeadline(t)
}

// fail records an error of the connection that Close has not caused.
func (c *rawConn) fail() {
	if !c.closing.Load() {
		c.failed.Store(true)
	}
}

// CloseWrite ends the direction to the endpoint of an upgraded connection, as that of [net.TCPConn] does.
func (c *rawConn) CloseWrite() error { return netconn.CloseWrite(c.Conn) }
