package dataplane

import "time"

// A Server is one gRPC server.
type Server struct {
	Taken time.Time `json:"taken,omitzero"`
	// Ports are the sockets, in the order of the calls of Serve.
	Ports []Port `json:"ports,omitempty"`
}

// The modes of a Port.
const (
	Starting   = "STARTING"    // the first configuration is not complete
	Serving    = "SERVING"     // connections and calls are accepted
	NotServing = "NOT_SERVING" // connections are closed without a byte
	Stopped    = "STOPPED"     // the socket is closed
)

// A Port is one listening socket.
type Port struct {
	Address string `json:"address"`
	// Listener is the name of the Listener resource.
	Listener string `json:"listener"`
	// Mode is Starting, Serving, NotServing or Stopped, since Since. Reason says why the port does not
	// serve (gRFC A36).
	Mode   string    `json:"mode"`
	Reason string    `json:"reason,omitzero"`
	Since  time.Time `json:"since,omitzero"`
	// Generations are the accepted Listeners that have connections or can get them, the newest first.
	Generations []Generation `json:"generations,omitempty"`
}

// A Generation is one accepted Listener with its connections.
type Generation struct {
	// Version is the version of the Listener, accepted at Created.
	Version string    `json:"version,omitzero"`
	Created time.Time `json:"created,omitzero"`
	// DrainingSince is the time when another Listener replaced it. It is zero for the current one.
	DrainingSince time.Time `json:"drainingSince,omitzero"`
	// Draining is the age of the replacement when the state was read.
	Draining time.Duration `json:"draining,omitzero"` // in ns
	// Handshakes is the number of connections that have not finished their handshake.
	Handshakes   int           `json:"handshakes,omitzero"`
	FilterChains []FilterChain `json:"filterChains,omitempty"`
}

// A FilterChain is a filter chain of a Listener.
type FilterChain struct {
	Name string `json:"name,omitzero"`
	// Default marks the default filter chain.
	Default bool `json:"default,omitzero"`
	// TLS reports whether the control plane configures TLS.
	TLS bool `json:"tls,omitzero"`
	// Routes is the name of the RouteConfiguration. Without one, all calls fail with Err.
	Routes string `json:"routes,omitzero"`
	Err    string `json:"error,omitzero"`
	// Connections is the number of open connections.
	Connections int64 `json:"connections"`
}
