// Package server implements an xDS-enabled gRPC server (gRFC A36).
//
// A [Port] is one listening socket, as in package internal/dataplane/server. This package has gRPC's part of it: a
// grpc.Server for each filter chain, its handshakes, and the interceptors that route calls. A filter chain ends with the
// GracefulStop of its server.
package server

import (
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
)

// DefaultHandshakeLimit is the time that a draining filter chain waits for handshakes: 2 s. Until they end, it cannot
// send GOAWAY to any client.
const DefaultHandshakeLimit = 2 * time.Second

// A Config has the settings that the ports of one server share. All fields except AnyAddress are
// required.
type Config struct {
	server.Config

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
	// Host is the host of all filters, without name and logger.
	Host httpfilter.Host
	// HandshakeLimit is the time that a draining filter chain waits for handshakes.
	HandshakeLimit time.Duration
}

// A Port is a port whose calls are gRPC's.
type Port = server.Port[*routing]

// NewPort creates a port for a listening socket and the name of its Listener. The address must be a TCP address (A36).
func NewPort(c *Config, lis net.Listener, name string) (*Port, error) {
	return server.NewPort[*routing](&c.Config, &backend{config: c}, lis, name)
}

// A backend serves the connections of one port with grpc.Servers.
type backend struct {
	config  *Config
	filters filterchain.ServerHolder
}

var _ server.Backend[*routing] = (*backend)(nil)
