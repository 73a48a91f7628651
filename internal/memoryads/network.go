package memoryads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

var errClosed = errors.New("memoryads: the connection is closed")

// A Network has servers by their URI. It implements [transport.Transport].
type Network map[string]*Server

var _ transport.Transport = Network(nil)

// Dial implements [transport.Transport]. It fails for a server that is not there.
func (n Network) Dial(server *bootstrap.Server) (transport.Conn, error) {
	s, ok := n[server.URI()]
	if !ok {
		return nil, fmt.Errorf("memoryads: no server %q", server.URI())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections++
	return &conn{server: s}, nil
}

// A conn is a connection to one server.
type conn struct {
	server *Server
	closed bool
}

// OpenStream implements [transport.Conn].
func (c *conn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.closed:
		return nil, errClosed
	case s.faults.refuse != nil:
		return nil, s.faults.refuse
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	st, err := s.newStream(ctx, method)
	if err != nil {
		return nil, err
	}
	st.conn = c
	if err := s.faults.failing[method]; err != nil {
		st.ended, st.err = true, err
		return st, nil
	}
	s.streams = append(s.streams, st)
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(func(other *stream) bool { return other == st }, ctx.Err())
	})
	return st, nil
}

// newStream returns a stream of a method. s.mu is held.
func (s *Server) newStream(ctx context.Context, method string) (*stream, error) {
	s.opened++
	s.lastOpened = time.Now()
	st := &stream{ctx: ctx, server: s, method: method, number: s.opened, temperament: s.temperament, asked: make(map[string]*asked)}
	switch method {
	case transport.MethodADS:
		st.protocol = &sotw{stream: st, types: make(map[string]*sotwType)}
	case transport.MethodDeltaADS:
		st.protocol = &delta{stream: st, types: make(map[string]*deltaType)}
	default:
		return nil, status.Errorf(codes.Unimplemented, "memoryads: no method %q", method)
	}
	return st, nil
}

// Close implements [transport.Conn].
func (c *conn) Close() error {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.closed {
		c.closed = true
		s.connections--
		s.end(func(st *stream) bool { return st.conn == c }, errClosed)
	}
	return nil
}
