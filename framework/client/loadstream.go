package client

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A loadStream is one LRS stream. One goroutine reads, another one collects load and writes.
// Neither waits for the other.
type loadStream struct {
	channel *loadChannel
	loop    *loop
	ctx     context.Context
	cancel  context.CancelFunc
	out     chan *load.Scope // the report to send, nil for the node; never more than one
	applied chan struct{}    // a token when the last response has been applied
}

func newLoadStream(ch *loadChannel, l *loop) *loadStream {
	s := &loadStream{channel: ch, loop: l, out: make(chan *load.Scope, 1), applied: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(ch.client.ctx)
	return s
}

// current reports whether the stream is its channel's. Loop only.
func (s *loadStream) current() bool { return s.channel.stream == s }

// resume allows the next response to be read.
func (s *loadStream) resume() { s.applied <- struct{}{} }

// run ends when both directions have ended. Then it is known which reports have been sent.
func (s *loadStream) run(conn transport.Conn) {
	defer s.cancel()
	ts, err := conn.OpenStream(s.ctx, lrs.Method)
	if err != nil {
		s.loop.post(func() { s.closed(err) })
		return
	}
	s.loop.post(s.opened)
	wrote := make(chan error, 1)
	s.channel.client.wg.Go(func() { wrote <- s.write(ts) })
	err = s.read(ts)
	s.cancel()
	if w := <-wrote; w != nil {
		err = w
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.loop.post(func() { s.closed(err) })
}

// errEnded means that a message could not be sent because the stream has ended. Reading returns the
// reason.
var errEnded = errors.New("the stream has ended")

// write collects load and sends a report whenever the loop asks for one. A report that is not sent
// is part of the next one. Its error is an encoding error.
func (s *loadStream) write(ts transport.Stream) error {
	for {
		select {
		case <-s.ctx.Done():
			return nil
		case scope := <-s.out:
			err := s.send(ts, scope)
			switch {
			case errors.Is(err, errEnded):
				return nil
			case err != nil:
				s.cancel()
				return err
			}
			s.loop.post(s.written)
		}
	}
}

// maxLoadMessage is the limit of a message in bytes, unless it holds only one cluster. It is a
// quarter of the default limit of gRPC servers.
const maxLoadMessage = 1 << 20

// send sends the node, or a report.
func (s *loadStream) send(ts transport.Stream, scope *load.Scope) error {
	if scope == nil {
		return s.message(ts, s.channel.client.loads.node, new(load.Cut))
	}
	for _, part := range s.channel.store.Cut(*scope, time.Now()).Split(maxLoadMessage) {
		if err := s.message(ts, nil, part); err != nil {
			return err
		}
		part.Commit()
	}
	return nil
}

func (s *loadStream) message(ts transport.Stream, node []byte, cut *load.Cut) error {
	msg, err := lrs.EncodeRequest(node, cut.Stats)
	if err != nil {
		return err
	}
	if ts.Send(msg) != nil {
		return errEnded
	}
	return nil
}

// read reads the server's instructions. It limits the rate, so that a control plane cannot keep its
// client busy.
func (s *loadStream) read(ts transport.Stream) error {
	var pace pace
	for {
		msg, err := ts.Receive()
		if err != nil {
			return err
		}
		began := time.Now()
		in, err := lrs.ParseResponse(msg)
		if err != nil {
			return err
		}
		s.loop.post(func() { s.received(in) })
		select {
		case <-s.applied:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		if err := pace.wait(s.ctx, time.Since(began), false); err != nil {
			return err
		}
	}
}
