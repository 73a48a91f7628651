// Package fakeads is an ADS server whose answers are written by hand, for faults
// that a real control plane does not make.
package fakeads

import (
	"context"
	"fmt"
	"net"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

// A Stream is the server's side of a state-of-the-world ADS stream.
type Stream = discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer

// A Server runs one function per stream.
type Server struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	serve func(Stream) error
	grpc  *grpc.Server
	addr  string
	done  chan struct{}
}

// Start serves on a free port of 127.0.0.1, until Stop. A stream ends when serve
// returns.
func Start(serve func(Stream) error) (*Server, error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fakeads: %w", err)
	}
	s := &Server{serve: serve, grpc: grpc.NewServer(), addr: lis.Addr().String(), done: make(chan struct{})}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s.grpc, s)
	go func() {
		defer close(s.done)
		_ = s.grpc.Serve(lis) // ends with Stop
	}()
	return s, nil
}

// StreamAggregatedResources implements the service.
func (s *Server) StreamAggregatedResources(stream Stream) error { return s.serve(stream) }

// Addr is "127.0.0.1:port".
func (s *Server) Addr() string { return s.addr }

// Stop ends every stream and the server.
func (s *Server) Stop() {
	s.grpc.Stop()
	<-s.done
}
