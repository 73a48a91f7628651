package transport

import (
	"context"
	"errors"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// Methods of the xDS services, as streams are opened with.
const (
	MethodADS      = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	MethodDeltaADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
)

// ErrUnimplemented is in the chain of the error with which a stream ends whose
// method the server does not have.
var ErrUnimplemented = errors.New("the server does not implement the method")

// A Transport makes connections to control planes. Its methods may be called
// from any goroutine.
type Transport interface {
	// Dial returns a connection to a server, with the server's credentials. It
	// does not wait for the network; it fails only when the entry cannot be
	// used at all, as with credentials that cannot be built.
	Dial(server *bootstrap.Server) (Conn, error)
}

// A Conn is a connection, or what makes connections when streams need them.
type Conn interface {
	// OpenStream opens a bidirectional stream of the method. It waits while the
	// connection is being made and fails, with the reason, once it is known
	// that it cannot be (gRFC A57). It also fails when the server grants no stream
	// for long, because only a failure makes a client fall back. The
	// stream ends with ctx.
	OpenStream(ctx context.Context, method string) (Stream, error)
	// Close ends the connection and every stream on it.
	Close() error
}

// A Stream carries encoded protobuf messages. One goroutine may send while
// another receives.
type Stream interface {
	// Send hands a message to the network. It may block for flow control. The
	// caller does not touch msg again. A message that Send fails for has not been and
	// will not be delivered.
	Send(msg []byte) error
	// Receive waits for a message, which is valid until the next call. io.EOF says
	// that the server ended the stream without an error.
	Receive() ([]byte, error)
}

// A PieceReceiver is a [Stream] whose messages arrive in pieces, for callers that do not
// need to have them in one.
type PieceReceiver interface {
	// ReceivePieces is Receive; the pieces are valid until the next call of either.
	ReceivePieces() ([][]byte, error)
}

// An Arriver is a [Stream] that notices a message before all of it is there.
type Arriver interface {
	// Arriving reports whether bytes are arriving of a message that Receive waits for, and
	// since when. It may take other bytes for such, and miss a small message. Any goroutine
	// may call it.
	Arriving() (since time.Time, ok bool)
}
