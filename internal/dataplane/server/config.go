package server

import (
	"log/slog"
	"net"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// DefaultGrace is the grace period for the calls of an old Listener: 10 min (A36).
const DefaultGrace = 10 * time.Minute

// A Config has the settings that the ports of one server share. All fields except AnyAddress are
// required.
type Config struct {
	// Package is the name of the package whose server this is. Errors begin with it.
	Package string
	// Client watches the resources.
	Client resource.Client
	// Providers have the certificates of filter chains with TLS.
	Providers *security.Providers
	// Report is called with nil when the server serves at an address, and with an error when it does not. It is
	// called again whenever the mode or its reason changes. It is not called concurrently for one address.
	Report func(addr net.Addr, err error)
	// Grace limits the calls of an old generation. A negative time sets no limit.
	Grace time.Duration
	// AnyAddress accepts a Listener with the address 0.0.0.0 for a server on [::], and the reverse.
	AnyAddress bool
	// Logger logs configurations that make calls fail.
	Logger *slog.Logger
}

// A Backend serves the connections of one port by some protocol.
type Backend[R Routing] interface {
	// Compile derives the routing of each filter chain in the list, in the same order. It records the problems that
	// make calls fail.
	Compile(list []Routes, p *Problems) []R
	// Chain creates the chain for the first connection of a filter chain.
	Chain(Opening[R]) Chain[R]
}

// An Opening is a filter chain of a generation whose first connection waits.
type Opening[R Routing] struct {
	// Addr is the address of the port.
	Addr net.Addr
	// FilterChain is the configuration of the connections.
	FilterChain *listener.FilterChain
	// TLS is the TLS of the connections. It is nil if the control plane configures none. The port closes it after
	// the Chain has ended.
	TLS *security.Server
	// Routing routes the calls until [Chain.Route] is called.
	Routing R
}

// A Chain serves the connections of one filter chain in one generation. Its methods may be called concurrently.
type Chain[R Routing] interface {
	// Serve serves a connection in the background. It returns false, and leaves the connection open, if the chain
	// drains or has stopped.
	Serve(net.Conn) bool
	// Route applies another routing to all later calls.
	Route(R)
	// Drain lets clients send no more calls, and returns when the calls in flight have ended.
	Drain()
	// Stop ends all connections and calls at once. A running Drain then returns.
	Stop()
	// Connections returns the number of open connections, and how many of them have not finished their handshake.
	Connections() (open int64, handshakes int)
}

// A Routing routes the calls of one filter chain. It is immutable.
type Routing interface {
	// Describe returns the name of the RouteConfiguration, or the error of all calls.
	Describe() (routes string, err error)
	// Release ends the use of the routing by later calls. The port calls it once: when another routing has replaced it,
	// or when all chains have ended. Calls in flight keep their filters open.
	Release()
}
