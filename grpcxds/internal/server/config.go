// Package server implements an xDS-enabled gRPC server (gRFC A36).
//
// A [Port] is one listening socket. The socket stays open while the port serves. The port hands accepted connections
// to the current generation, which serves one accepted Listener resource. A generation has a grpc.Server for each
// filter chain that has had a connection. A call therefore knows its filter chain without a lookup. A generation ends
// with the GracefulStop of its servers.
package server

import (
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

// DefaultGrace is the grace period for the calls of an old Listener: 10 min (A36).
const DefaultGrace = 10 * time.Minute

// DefaultHandshakeLimit is the time that a draining generation waits for handshakes: 2 s. Until they end, it cannot
// send GOAWAY to any client.
const DefaultHandshakeLimit = 2 * time.Second

// A Config has the settings that the ports of one server share. All fields except AnyAddress are
// required.
type Config struct {
	// Client watches the resources.
	Client resource.Client
	// NodeID is the ID of the bootstrap's node. It appears in the status of calls that fail because of the
	// configuration.
	NodeID string
	// Options are the options of every grpc.Server. They handle unknown methods, so that the interceptors run for
	// calls of those methods too.
	Options []grpc.ServerOption
	// Register registers the services of every grpc.Server.
	Register func(grpc.ServiceRegistrar)
	// Chains makes the chains of HTTP filters.
	Chains *filterchain.Registry
	// Providers have the certificates of filter chains with TLS.
	Providers *security.Providers
	// Report is called with nil when the server serves at an address, and with an error when it does not. It is
	// called again whenever the mode or its reason changes. It is not called concurrently for one address.
	Report func(addr net.Addr, err error)
	// Grace limits the calls of an old generation. A negative time sets no limit.
	Grace time.Duration
	// AnyAddress accepts a Listener with the address 0.0.0.0 for a server on [::], and the reverse.
	AnyAddress bool
	// HandshakeLimit is the time that a draining generation waits for handshakes.
	HandshakeLimit time.Duration
	// Logger logs configurations that make calls fail.
	Logger *slog.Logger
}
