// Package adsmemory connects clients in the same process to a core of ADS servers, without a network.
package adsmemory

import (
	"bytes"
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/adsserver"
)

// A Transport connects all server entries to one core. The features of an entry choose the variant of
// the protocol.
type Transport struct{ Core *adsserver.Core }

var _ transport.Transport = Transport{}

// Dial implements [transport.Transport].
func (t Transport) Dial(*bootstrap.Server) (transport.Conn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	return &conn{core: t.Core, ctx: ctx, cancel: cancel}, nil
}

var errClosed = errors.New("adsmemory: the connection is closed")

// A conn is a connection of a client.
type conn struct {
	core   *adsserver.Core
	ctx    context.Context //nolint:containedctx // ends with Close
	cancel context.CancelFunc
}

// OpenStream implements [transport.Conn].
func (c *conn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	if method != transport.MethodADS && method != transport.MethodDeltaADS {
		return nil, status.Errorf(codes.Unimplemented, "adsmemory: no method %q", method)
	}
	if c.ctx.Err() != nil {
		return nil, errClosed
	}
	st, err := c.core.Open(method == transport.MethodDeltaADS)
	if err != nil {
		return nil, err
	}
	keep := context.AfterFunc(c.ctx, func() { st.Close(errClosed) }) //nolint:contextcheck // the stream ends with either
	context.AfterFunc(ctx, func() {
		keep()
		st.Close(context.Cause(ctx))
	})
	return &stream{ctx, st}, nil
}

// Close implements [transport.Conn].
func (c *conn) Close() error {
	c.cancel()
	return nil
}

// A stream is the client's end of an ADS stream.
type stream struct {
	ctx  context.Context //nolint:containedctx // the stream's
	core *adsserver.Stream
}

var _ transport.PieceReceiver = (*stream)(nil)

// Send implements [transport.Stream].
func (s *stream) Send(msg []byte) error { return s.core.Request(msg) }

// Receive implements [transport.Stream].
func (s *stream) Receive() ([]byte, error) {
	pieces, err := s.ReceivePieces()
	return bytes.Join(pieces, nil), err
}

// ReceivePieces implements [transport.PieceReceiver].
func (s *stream) ReceivePieces() ([][]byte, error) { return s.core.Next(s.ctx) }
