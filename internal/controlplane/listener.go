package controlplane

import (
	"net"
	"sync"
)

// A listener counts connections, and holds them back when it is told to.
type listener struct {
	net.Listener
	server *Server
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.server.note(func() { l.server.conns++ })
	l.server.held.RLock()   // waits while connections are held
	l.server.held.RUnlock() //nolint:gocritic,staticcheck // it only waits
	return c, nil
}

// Hold keeps connections from being served until release is called: the client
// is connected, and waits.
func (s *Server) Hold() (release func()) {
	s.held.Lock()
	s.release = sync.OnceFunc(s.held.Unlock)
	return s.release
}
