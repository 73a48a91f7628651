package server

import (
	"net"
	"sync"
)

// A lobby is a listener through which a port hands connections to a gRPC server.
type lobby struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newLobby(addr net.Addr) *lobby {
	return &lobby{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// hand gives a connection to the server, or closes it if the server has stopped accepting.
func (l *lobby) hand(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.closed:
		_ = c.Close() // the server has stopped
	}
}

// Accept implements [net.Listener].
func (l *lobby) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *lobby) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *lobby) Addr() net.Addr { return l.addr }
