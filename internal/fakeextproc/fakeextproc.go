// Package fakeextproc has a processor for tests (envoy.service.ext_proc.v3.ExternalProcessor).
package fakeextproc

import (
	"context"
	"net"
	"sync/atomic"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
)

// Stream is the stream of a call.
type Stream = extprocv3.ExternalProcessor_ProcessServer

// A Server is a processor on loopback. At first it mirrors every call.
type Server struct {
	// Streams is the number of streams, Open the number of those that have not ended, and Connections that of connections.
	Streams, Open, Connections atomic.Int64

	extprocv3.UnimplementedExternalProcessorServer
	process atomic.Pointer[func(Stream) error]
	server  *grpc.Server
	lis     net.Listener
}

// Start starts a server. The caller stops it.
func Start(opts ...grpc.ServerOption) (*Server, error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{server: grpc.NewServer(opts...), lis: lis}
	s.Handle(func(stream Stream) error { return new(Mirror).Process(stream) })
	extprocv3.RegisterExternalProcessorServer(s.server, s)
	go func() { _ = s.server.Serve(counted{lis, &s.Connections}) }()
	return s, nil
}

// A counted listener counts connections.
type counted struct {
	net.Listener
	n *atomic.Int64
}

// Accept implements [net.Listener].
func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// Addr returns the address.
func (s *Server) Addr() string { return s.lis.Addr().String() }

// Stop stops the server.
func (s *Server) Stop() { s.server.Stop() }

// Handle replaces the function that handles streams.
func (s *Server) Handle(f func(Stream) error) { s.process.Store(&f) }

// Process implements the service.
func (s *Server) Process(stream Stream) error {
	s.Streams.Add(1)
	s.Open.Add(1)
	defer s.Open.Add(-1)
	return (*s.process.Load())(stream)
}
