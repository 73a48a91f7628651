package capture

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A Transport passes the streams of a client to another transport, and reports the messages of ADS.
type Transport struct {
	Inner transport.Transport
	// Report is called with each message, from the goroutine that sends or receives it. It must not
	// keep the client waiting.
	Report func(Message)
	// Started is the begin of the capture.
	Started time.Time

	streams atomic.Int64
}

// Dial implements [transport.Transport].
func (t *Transport) Dial(server *bootstrap.Server) (transport.Conn, error) {
	c, err := t.Inner.Dial(server)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, t: t, server: server.URI()}, nil
}

type conn struct {
	transport.Conn
	t      *Transport
	server string
}

// OpenStream implements [transport.Conn].
func (c *conn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	inner, err := c.Conn.OpenStream(ctx, method)
	if !isADS(method) {
		return inner, err
	}
	s := &stream{Stream: inner, t: c.t, about: Message{Server: c.server, Stream: int(c.t.streams.Add(1)), Method: method}}
	if err != nil {
		s.report(Closed, nil, err)
		return nil, err
	}
	s.report(Opened, nil, nil)
	return s, nil
}

type stream struct {
	transport.Stream
	t     *Transport
	about Message
}

func (s *stream) report(kind Direction, data []byte, err error) {
	m := s.about
	m.Kind, m.Bytes, m.Seconds = kind, slices.Clone(data), time.Since(s.t.Started).Seconds()
	if err != nil && !errors.Is(err, io.EOF) {
		m.Error = err.Error()
	}
	s.t.Report(m)
}

// Send implements [transport.Stream].
func (s *stream) Send(msg []byte) error {
	s.report(Sent, msg, nil) // before, because the answer may come first
	return s.Stream.Send(msg)
}

// Receive implements [transport.Stream].
func (s *stream) Receive() ([]byte, error) {
	msg, err := s.Stream.Receive()
	if err != nil {
		s.report(Closed, nil, err)
		return nil, err
	}
	s.report(Received, msg, nil)
	return msg, nil
}
