package grpctransport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/printable"
)

type stream struct {
	grpc.ClientStream
	end      context.CancelCauseFunc
	last     message // the receiver's
	arrivals *arrivals

	mu      sync.Mutex
	waiting time.Time // since when the receiver waits
	mark    uint64    // of arrivals, at that time
}

// Send implements [transport.Stream]. It fails with io.EOF if the stream has ended. Receive returns
// the reason.
func (s *stream) Send(msg []byte) error { return plain(s.SendMsg(msg)) }

var (
	_ transport.PieceReceiver = (*stream)(nil)
	_ transport.Arriver       = (*stream)(nil)
)

// Receive implements [transport.Stream].
func (s *stream) Receive() ([]byte, error) {
	pieces, err := s.ReceivePieces()
	if len(pieces) == 1 {
		return pieces[0], err
	}
	return bytes.Join(pieces, nil), err
}

// ReceivePieces implements [transport.PieceReceiver].
func (s *stream) ReceivePieces() ([][]byte, error) {
	s.last.release()
	s.wait()
	if err := s.RecvMsg(&s.last); err != nil {
		s.end(err)
		return nil, plain(err)
	}
	return s.last.pieces, nil
}

func (s *stream) wait() {
	mark, now := s.arrivals.mark(), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.mark = now, mark
}

// Arriving implements [transport.Arriver]. It counts the bytes of all streams on the server's
// connections. It may therefore mistake a message for another client for one of this stream.
func (s *stream) Arriving() (since time.Time, ok bool) {
	s.mu.Lock()
	waiting, mark := s.waiting, s.mark
	s.mu.Unlock()
	if waiting.IsZero() {
		return time.Time{}, false
	}
	if since, ok = s.arrivals.since(mark); since.Before(waiting) {
		since = waiting
	}
	return since, ok
}

// plain keeps the text of a status error and removes its type. A control plane's status must not be
// found in an error chain and become the status of a call (gRFC A54).
func plain(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	s := status.Convert(err)
	e := &transport.Error{Kind: s.Code().String(), Text: printable.Text(s.Message(), printable.Quoted)}
	if s.Code() == codes.Unimplemented {
		e.Cause = transport.ErrUnimplemented
	}
	return e
}
