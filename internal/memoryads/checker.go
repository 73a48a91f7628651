package memoryads

import (
	"context"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A Checker is a transport in front of another one. It applies the checks of a [Server] to the clients of
// other ADS servers, and passes all messages on. It does not pass on requests that cannot be decoded, and
// requests of a client that causes a storm.
type Checker struct {
	next   transport.Transport
	server *Server // has no resources, but the names of those in responses
}

var _ transport.Transport = (*Checker)(nil)

// NewChecker returns a checker in front of a transport. The function returns the name in an encoded
// message, for responses without wrappers.
func NewChecker(next transport.Transport, names func(url string, body []byte) string, types ...Type) *Checker {
	s := NewServer(types...)
	s.temperament = observed
	s.names = names
	return &Checker{next: next, server: s}
}

// Violations returns the clients' protocol violations, oldest first.
func (c *Checker) Violations() []string { return c.server.Violations() }

// Dial implements [transport.Transport].
func (c *Checker) Dial(server *bootstrap.Server) (transport.Conn, error) {
	next, err := c.next.Dial(server)
	if err != nil {
		return nil, err
	}
	return &checkedConn{next, c.server}, nil
}

// A checkedConn is a connection whose streams are checked.
type checkedConn struct {
	transport.Conn
	server *Server
}

// OpenStream implements [transport.Conn].
func (c *checkedConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	next, err := c.Conn.OpenStream(ctx, method)
	if err != nil {
		return nil, err
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	st, err := c.server.newStream(ctx, method)
	if err != nil {
		return nil, err
	}
	return &checkedStream{next: next, seen: st}, nil
}

// A checkedStream checks the requests of a stream. It destroys each message when it receives the next one,
// as gRPC reuses the memory.
type checkedStream struct {
	next transport.Stream
	seen *stream
	last []byte
}

// Send implements [transport.Stream].
func (s *checkedStream) Send(msg []byte) error {
	if !s.check(msg) {
		return nil
	}
	return s.next.Send(msg)
}

// check reports whether a request may be passed on.
func (s *checkedStream) check(msg []byte) bool {
	s.seen.server.mu.Lock()
	defer s.seen.server.mu.Unlock()
	s.seen.sentAt = time.Now()
	return s.seen.protocol.read(msg) && !s.seen.muted
}

// Receive implements [transport.Stream].
func (s *checkedStream) Receive() ([]byte, error) {
	raw, err := s.next.Receive()
	for i := range s.last {
		s.last[i] = 0xff
	}
	s.last = raw
	if err == nil {
		s.seen.server.mu.Lock()
		defer s.seen.server.mu.Unlock()
		s.seen.protocol.relayed(raw)
	}
	return raw, err
}
