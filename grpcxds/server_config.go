package grpcxds

import (
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge"
)

// NewServer is grpc.NewServer for a server that control planes configure (gRFC A36). It calls the method of a zero
// [ServerConfig].
func NewServer(opts ...grpc.ServerOption) (*Server, error) { return ServerConfig{}.NewServer(opts...) }

// Creds is grpc.Creds with [ServerCredentials] of the fallback.
func Creds(fallback credentials.TransportCredentials) grpc.ServerOption {
	return grpc.Creds(ServerCredentials(fallback))
}

// A ServerConfig makes servers. The zero ServerConfig is ready for use.
type ServerConfig struct {
	// Env is the environment of the server. It must have the types and extensions of [Register].
	// Nil is the default Env of the bootstrap that the environment variables name when the server
	// is made (gRFC A27). Channels and servers with the same bootstrap share it.
	Env *xdsforge.Env
	// ModeChanged is called once for each address when the server starts to serve there, and
	// again whenever the mode or its reason changes. It is not called concurrently for one
	// address, and may stop the server. While it runs, the address uses no newer configuration.
	// The server also logs each change: reasons not to serve at Warn, and that it serves at Info
	// (gRFC A36).
	ModeChanged func(ModeChange)
	// DrainTime limits the calls in flight after their Listener was changed or removed. The server tells clients to
	// send no more calls over their connections. It closes a connection when all its calls have ended, or after this
	// time. Zero is 10 min (gRFC A36). A negative time does not limit calls.
	DrainTime time.Duration
	// Logger is where the server logs. Nil is the logger of Env, or slog.Default() if Env has
	// none. The xDS client of the servers uses the logger of Env.
	Logger *slog.Logger
	// OtherAnyAddress lets a server that listens on [::] use a Listener whose address is 0.0.0.0
	// with the same port, and the other way round. Otherwise these addresses differ like any
	// others, as gRFC A36 demands. The name of the Listener does not change: the server asks for
	// the Listener of the address that it listens on.
	OtherAnyAddress bool
}

// A ModeChange says whether a server serves at an address.
type ModeChange struct {
	// Addr is the address.
	Addr net.Addr
	// Mode is Serving or NotServing.
	Mode Mode
	// Err is the reason not to serve. It is nil if Mode is Serving.
	Err error
}

// A Mode tells whether a server serves at an address (gRFC A36).
type Mode uint8

// The modes.
const (
	// NotServing closes connections without a byte.
	NotServing Mode = iota
	// Serving accepts connections and calls.
	Serving
)

// String returns "serving" or "not serving".
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

// modes returns a function that passes each change of a mode to f. It is nil if f is nil.
func modes(f func(ModeChange)) func(net.Addr, error) {
	if f == nil {
		return nil
	}
	return func(addr net.Addr, err error) { f(ModeChange{addr, modeOf(err), err}) }
}
