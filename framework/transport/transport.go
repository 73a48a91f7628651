package transport

import (
	"context"
	"errors"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// Methods of the xDS services, for opening streams.
const (
	MethodADS      = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	MethodDeltaADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
)

// ErrUnimplemented is in the chain of a stream's error if the server does not have the method.
var ErrUnimplemented = errors.New("the server does not implement the method")

// A Transport makes connections to control planes. Its methods may be called from any goroutine.
type Transport interface {
	// Dial returns a connection to a server, with the server's credentials. It does not wait for
	// the network. It fails only if the entry is unusable, for example if its credentials cannot be
	// built.
	Dial(server *bootstrap.Server) (Conn, error)
}

// A DeltaTransport is a [Transport] that knows of some servers that they speak the incremental variant
// of the protocol, whatever features their entries have.
type DeltaTransport interface {
	Transport
	// Delta reports whether the client uses the incremental variant with a server.
	Delta(server *bootstrap.Server) bool
}

// A Conn is a connection, or makes connections when streams need them.
type Conn interface {
	// OpenStream opens a bidirectional stream of the method. It waits for the connection, and fails
	// with the reason once the connection has failed (gRFC A57). It also fails if the server grants
	// no stream for long, because a client falls back only after a failure. The stream ends with
	// ctx.
	OpenStream(ctx context.Context, method string) (Stream, error)
	// Close ends the connection and every stream on it.
	Close() error
}

// A Stream carries encoded protobuf messages. One goroutine may send while another receives.
type Stream interface {
	// Send passes a message to the network. It may block for flow control. The caller must not use
	// msg again. If Send fails, the message has not been and will not be delivered.
	Send(msg []byte) error
	// Receive waits for a message, which is valid until the next call. It returns io.EOF if the
	// server ended the stream without an error.
	Receive() ([]byte, error)
}

// A PieceReceiver is a [Stream] that can return a message in pieces, for callers that do not need
// it in one.
type PieceReceiver interface {
	// ReceivePieces is Receive for pieces. They are valid until the next call of either method.
	ReceivePieces() ([][]byte, error)
}

// An Arriver is a [Stream] that detects a message before it is complete.
type Arriver interface {
	// Arriving reports whether a message that Receive waits for is arriving, and since when. It may
	// mistake other bytes for a message, and may miss a small message. Any goroutine may call it.
	Arriving() (since time.Time, ok bool)
}
