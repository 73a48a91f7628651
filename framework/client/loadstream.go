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

// A loadStream is one LRS stream, with a goroutine that reads and one that takes stock
// and writes. Neither waits for the other.
type loadStream struct {
	channel *loadChannel
	loop    *loop
	ctx     context.Context
	cancel  context.CancelFunc
	out     chan *load.Scope // what to report, nil for the node; never more than one
	applied chan struct{}    // a token when the last response is done with
}

func newLoadStream(ch *loadChannel, l *loop) *loadStream {
	s := &loadStream{channel: ch, loop: l, out: make(chan *load.Scope, 1), applied: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(ch.client.ctx)
	return s
}

// current reports whether the stream is its channel's. Loop only.
func (s *loadStream) current() bool { return s.channel.stream == s }

// resume lets the next response be read.
func (s *loadStream) resume() { s.applied <- struct{}{} }

// run ends when both directions have: it is known then which reports have left.
func (s *loadStream) run(conn transport.Conn) {
	defer s.cancel()
	ts, err := conn.OpenStream(s.ctx, lrs.Method)
	if err != nil {
		s.loop.post(loadClosed{s, err})
		return
	}
	s.loop.post(loadOpened{s})
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
	s.loop.post(loadClosed{s, err})
}

// errEnded says that a message could not be sent: the stream has ended, and reading says
// why.
var errEnded = errors.New("the stream has ended")

// write takes stock and sends, when the loop says so. A report that is not sent is part
// of the next one. An error is one of encoding.
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
			s.loop.post(reported{s})
		}
	}
}

// maxLoadMessage is how long a message may be, in bytes, unless it is of one cluster: a
// quarter of what gRPC servers take.
const maxLoadMessage = 1 << 20

// send sends the node, or what there is to report.
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

// read takes in what the server wants, not faster than a control plane may busy its
// client.
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
		s.loop.post(instructed{s, in})
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
