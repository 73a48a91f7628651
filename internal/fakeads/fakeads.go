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

// A DeltaStream is the server's side of an incremental ADS stream.
type DeltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

// A Server runs one function per stream.
type Server struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	serve      func(Stream) error
	serveDelta func(DeltaStream) error
	grpc       *grpc.Server
	addr       string
	done       chan struct{}
}

// Start serves on a free port of 127.0.0.1, until Stop. A stream ends when serve
// returns.
func Start(serve func(Stream) error, opts ...grpc.ServerOption) (*Server, error) {
	return start(&Server{serve: serve}, opts)
}

// StartDelta is [Start] for the incremental protocol.
func StartDelta(serve func(DeltaStream) error, opts ...grpc.ServerOption) (*Server, error) {
	return start(&Server{serveDelta: serve}, opts)
}

func start(s *Server, opts []grpc.ServerOption) (*Server, error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fakeads: %w", err)
	}
	s.grpc, s.addr, s.done = grpc.NewServer(opts...), lis.Addr().String(), make(chan struct{})
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s.grpc, s)
	go func() {
		defer close(s.done)
		_ = s.grpc.Serve(lis) // ends with Stop
	}()
	return s, nil
}

// StreamAggregatedResources implements the service.
func (s *Server) StreamAggregatedResources(stream Stream) error {
	if s.serve == nil {
		return s.UnimplementedAggregatedDiscoveryServiceServer.StreamAggregatedResources(stream)
	}
	return s.serve(stream)
}

// DeltaAggregatedResources implements the service.
func (s *Server) DeltaAggregatedResources(stream DeltaStream) error {
	if s.serveDelta == nil {
		return s.UnimplementedAggregatedDiscoveryServiceServer.DeltaAggregatedResources(stream)
	}
	return s.serveDelta(stream)
}

// Addr is "127.0.0.1:port".
func (s *Server) Addr() string { return s.addr }

// Stop ends every stream and the server.
func (s *Server) Stop() {
	s.grpc.Stop()
	<-s.done
}
