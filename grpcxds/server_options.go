package grpcxds

import (
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// Mode is whether a server serves at an address (gRFC A36).
type Mode uint8

// The modes.
const (
	// NotServing closes connections without a byte.
	NotServing Mode = iota
	// Serving serves.
	Serving
)

// String is "serving" or "not serving".
func (m Mode) String() string {
	if m == Serving {
		return "serving"
	}
	return "not serving"
}

func modeOf(err error) Mode {
	if err == nil {
		return Serving
	}
	return NotServing
}

// A serverOption is an option of this package, which grpc.NewServer would pass over.
type serverOption struct {
	grpc.EmptyServerOption
	set func(*serverOptions)
}

type serverOptions struct {
	pool       *Pool
	logger     *slog.Logger
	mode       func(net.Addr, Mode, error)
	grace      time.Duration
	anyAddress bool
}

// ServerPool has a server use a pool, which the server does not close. Without it, a server
// has one of its own.
func ServerPool(p *Pool) grpc.ServerOption {
	return serverOption{set: func(o *serverOptions) { o.pool = p }}
}

// ServerLogger sets where a server logs; the default is the logger of its pool.
func ServerLogger(l *slog.Logger) grpc.ServerOption {
	return serverOption{set: func(o *serverOptions) { o.logger = l }}
}

// ServingMode has f told that a server serves at an address, or does not, and why: at
// first, when that changes, and when the reason does. f is not called concurrently for one
// address, and may stop the server. While it runs, no newer configuration is taken into use
// there.
//
// Without it, reasons not to serve are logged at Warn, and that the server serves again at
// Info (gRFC A36).
func ServingMode(f func(addr net.Addr, mode Mode, err error)) grpc.ServerOption {
	return serverOption{set: func(o *serverOptions) { o.mode = f }}
}

// DrainGrace sets how long calls may go on whose Listener has been changed or taken away:
// clients are told to send no more over their connections, and the connections are closed
// when all calls are over, or after this time. The default is 10 min (gRFC A36); with less
// than 0, calls may take as long as they do.
func DrainGrace(d time.Duration) grpc.ServerOption {
	return serverOption{set: func(o *serverOptions) { o.grace = d }}
}

// OtherAnyAddress lets a server that listens on [::] use a Listener whose address is 0.0.0.0
// with the same port, and the other way round. Without it, these addresses differ like any
// others, as gRFC A36 demands. The name of the Listener does not change: the server asks for
// the Listener of the address that it listens on.
func OtherAnyAddress() grpc.ServerOption {
	return serverOption{set: func(o *serverOptions) { o.anyAddress = true }}
}

// logModes logs errors, and that each of them is over.
func logModes(l *slog.Logger) func(net.Addr, Mode, error) {
	var mu sync.Mutex
	failed := make(map[string]bool)
	return func(addr net.Addr, mode Mode, err error) {
		mu.Lock()
		before := failed[addr.String()]
		failed[addr.String()] = mode == NotServing
		mu.Unlock()
		switch {
		case mode == NotServing:
			l.Warn("xDS server is not serving", "addr", addr, "error", printable.Error(err))
		case before:
			l.Info("xDS server is serving again", "addr", addr)
		}
	}
}
