package sourced

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/adsserver"
)

// readyTimeout bounds the wait for the first state of a Source, as grpctransport bounds the wait for
// a stream.
const readyTimeout = 20 * time.Second

// Kinds of errors of the connection to a Source.
const (
	kindUnavailable   = "Unavailable"
	kindUnimplemented = "Unimplemented"
)

// A conn is the connection to a Source in the same process.
type conn struct {
	core   *adsserver.Core
	source source.Source
}

var errSlow = fmt.Errorf("the source has reported no state for %v", readyTimeout)

// OpenStream implements [transport.Conn].
func (c *conn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	if method != transport.MethodADS && method != transport.MethodDeltaADS {
		return nil, &transport.Error{Kind: kindUnimplemented, Text: "a source has no method " + method, Cause: transport.ErrUnimplemented}
	}
	wait, cancel := context.WithTimeoutCause(ctx, readyTimeout, errSlow)
	defer cancel()
	if err := c.core.Ready(wait); err != nil {
		return nil, failure(err)
	}
	st, err := c.core.Open(method == transport.MethodDeltaADS)
	if err != nil {
		return nil, failure(err)
	}
	s := &stream{ctx: ctx, core: st}
	context.AfterFunc(ctx, func() { st.Close(context.Cause(ctx)) })
	return s, nil
}

// Close implements [transport.Conn].
func (c *conn) Close() error {
	err := c.core.Close()
	closeSource(c.source)
	return err
}

// failure returns the error of a connection, without the status of another connection (gRFC A54).
func failure(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &transport.Error{Kind: kindUnavailable, Text: err.Error()}
}

// A stream is the client's end of an ADS stream.
type stream struct {
	ctx  context.Context //nolint:containedctx // the stream's
	core *adsserver.Stream
}

var _ transport.PieceReceiver = (*stream)(nil)

// Send implements [transport.Stream].
func (s *stream) Send(msg []byte) error {
	if err := s.core.Request(msg); err != nil {
		return failure(err)
	}
	return nil
}

// Receive implements [transport.Stream].
func (s *stream) Receive() ([]byte, error) {
	pieces, err := s.ReceivePieces()
	return bytes.Join(pieces, nil), err
}

// ReceivePieces implements [transport.PieceReceiver].
func (s *stream) ReceivePieces() ([][]byte, error) {
	pieces, err := s.core.Next(s.ctx)
	if err != nil {
		return nil, failure(err)
	}
	return pieces, nil
}
