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
	l.server.gate.wait()
	return c, nil
}

// A gate holds accepted connections back while it is closed.
type gate struct {
	mu     sync.Mutex
	cond   *sync.Cond
	closed bool
}

func (g *gate) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.closed {
		g.cond.Wait()
	}
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
	g.cond.Broadcast()
}

// Hold keeps connections from being served until release is called: the client
// is connected, and waits.
func (s *Server) Hold() (release func()) {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.closed = true
	return s.gate.release
}
