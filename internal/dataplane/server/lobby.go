package server

import (
	"net"
	"sync"
)

// A Lobby is a listener through which a port hands connections to a server of some protocol.
type Lobby struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewLobby returns a Lobby for a port at an address.
func NewLobby(addr net.Addr) *Lobby {
	return &Lobby{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Hand waits until the server accepts a connection. It closes the connection if the server has stopped accepting.
func (l *Lobby) Hand(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.closed:
		_ = c.Close() // the server has stopped
	}
}

// Accept implements [net.Listener].
func (l *Lobby) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *Lobby) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *Lobby) Addr() net.Addr { return l.addr }
