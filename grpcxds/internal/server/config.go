package server

import (
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
)

// DefaultGrace is how long the calls of an old Listener may go on: 10 min (A36).
const DefaultGrace = 10 * time.Minute

// DefaultHandshakeLimit is how long a generation that drains waits for handshakes: 2 s.
// Until they are over, it can tell no client to go away.
const DefaultHandshakeLimit = 2 * time.Second

// A Config has the settings that the ports of one server share. All fields except AnyAddress are
// required.
type Config struct {
	// Client watches the resources.
	Client resource.Client
	// NodeID is the bootstrap's, for the status of calls that the configuration fails.
	NodeID string
	// Options are those of every grpc.Server. They know that methods can be unknown, so
	// that calls of such go through interceptors too.
	Options []grpc.ServerOption
	// Register registers the services of every grpc.Server.
	Register func(grpc.ServiceRegistrar)
	// Chains makes the HTTP filters that calls go through.
	Chains *filterchain.Table
	// Providers have the certificates of filter chains with TLS.
	Providers *security.Providers
	// Report is told that the server serves at an address, or, with an error, that it does
	// not, when that changes or the reason does. It is not called concurrently for one
	// address.
	Report func(addr net.Addr, err error)
	// Grace is how long the calls of an old generation may go on; negative: as long as they
	// take.
	Grace time.Duration
	// AnyAddress lets a Listener for 0.0.0.0 be that of a server on [::], and the reverse.
	AnyAddress bool
	// HandshakeLimit is how long a generation that drains waits for handshakes.
	HandshakeLimit time.Duration
	// Logger is where configurations that make calls fail are told of.
	Logger *slog.Logger
}
