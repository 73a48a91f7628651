package client

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/ads"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A channel is the ADS of one server entry: its machine, the authorities whose
// resources come from it, and the stream of the moment. It belongs to the loop.
type channel struct {
	client      *Client
	server      *bootstrap.Server
	machine     *ads.SotW
	authorities []*authorityScope

	conn    transport.Conn
	release func() // gives conn back to the pool
	stream  *stream
}

// open starts a stream. The connection is taken from the pool when it is first
// needed.
func (ch *channel) open(l *loop) {
	s := &stream{
		channel: ch,
		loop:    l,
		out:     make(chan []byte, 1),
		applied: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(ch.client.ctx)
	ch.stream = s
	if ch.conn == nil {
		conn, release, err := ch.client.pool.acquire(ch.server)
		if err != nil {
			s.cancel()
			l.post(closed{s, err})
			return
		}
		ch.conn, ch.release = conn, release
	}
	conn := ch.conn
	ch.client.wg.Go(func() { s.run(conn) })
}

// send encodes a request and gives it to the writing goroutine, which is idle:
// the machine has one request on its way at a time.
func (ch *channel) send(e ads.Send) {
	req := transport.Request{
		TypeURL: e.Type.URL(), Version: e.Version, Nonce: e.Nonce, Names: e.Names, Error: e.Reject,
	}
	if e.First {
		req.Node = ch.client.node
	}
	if e.Reject != "" {
		ch.log(slog.LevelWarn, "response rejected", "type", e.Type.Name, "version", e.Version, "nonce", e.Nonce, "reason", e.Reject)
	}
	ch.stream.out <- req.Encode()
}

// rest ends the stream and gives the connection back until they are needed again.
func (ch *channel) rest() {
	if ch.stream != nil {
		ch.log(slog.LevelInfo, "stream ended: nothing is watched")
		ch.stream.cancel()
		ch.stream = nil
	}
	ch.letGo()
}

func (ch *channel) letGo() {
	if ch.conn != nil {
		ch.release()
		ch.conn = nil
	}
}

func (ch *channel) logLost(err error) {
	if err == nil {
		ch.log(slog.LevelInfo, "stream closed by the control plane")
		return
	}
	ch.log(slog.LevelWarn, "control plane unreachable", "error", err)
}

func (ch *channel) log(level slog.Level, msg string, args ...any) {
	args = append([]any{"server", ch.server.URI(), "node", ch.client.nodeID}, args...)
	ch.client.logger.Log(ch.client.ctx, level, msg, args...)
}

// A stream is one ADS stream, with a goroutine that reads and one that writes.
type stream struct {
	channel *channel
	loop    *loop
	ctx     context.Context
	cancel  context.CancelFunc
	out     chan []byte   // requests for the writing goroutine; never more than one
	applied chan struct{} // a token when the loop has taken in the last response
}

// current reports whether the stream is its channel's. Loop only.
func (s *stream) current() bool { return s.channel.stream == s }

// resume lets the next response be read.
func (s *stream) resume() { s.applied <- struct{}{} }

func (s *stream) run(conn transport.Conn) {
	defer s.cancel()
	ts, err := conn.OpenStream(s.ctx, transport.MethodADS)
	if err != nil {
		s.loop.post(closed{s, err})
		return
	}
	s.loop.post(opened{s})
	s.channel.client.wg.Go(func() { s.write(ts) })
	err = s.read(ts)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.loop.post(closed{s, err})
}

// write sends what the loop hands out. When sending fails the stream has ended,
// and reading says why.
func (s *stream) write(ts transport.Stream) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case msg := <-s.out:
			if ts.Send(msg) != nil {
				return
			}
			s.loop.post(written{s})
		}
	}
}

// read decodes responses one after another; the next is read when the loop has
// taken in the last.
func (s *stream) read(ts transport.Stream) error {
	for {
		msg, err := ts.Receive()
		if err != nil {
			return err
		}
		resp, err := transport.ParseResponse(msg)
		if err != nil {
			return err
		}
		d, ok := s.channel.decode(resp)
		if !ok {
			s.channel.log(slog.LevelDebug, "response of a type that is not registered", "type_url", resp.TypeURL)
			continue
		}
		s.loop.post(received{s, d})
		select {
		case <-s.applied:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}
