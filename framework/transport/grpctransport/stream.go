package grpctransport

import (
	"bytes"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource/printable"
	"github.com/xdsforge/xdsforge/framework/transport"
)

type stream struct {
	grpc.ClientStream
	end  context.CancelCauseFunc
	last *message // the receiver's
}

// Send implements [transport.Stream]. It fails with io.EOF when the stream has
// ended; the reason is what Receive returns.
func (s stream) Send(msg []byte) error { return plain(s.SendMsg(msg)) }

var _ transport.PieceReceiver = stream{}

// Receive implements [transport.Stream].
func (s stream) Receive() ([]byte, error) {
	pieces, err := s.ReceivePieces()
	if len(pieces) == 1 {
		return pieces[0], err
	}
	return bytes.Join(pieces, nil), err
}

// ReceivePieces implements [transport.PieceReceiver].
func (s stream) ReceivePieces() ([][]byte, error) {
	s.last.release()
	if err := s.RecvMsg(s.last); err != nil {
		s.end(err)
		return nil, plain(err)
	}
	return s.last.pieces, nil
}

// plain keeps what a status error says and takes its type away: a control
// plane's status must not be found in an error chain and become that of a call
// (gRFC A54).
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
