package server

import (
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/xdsforge/xdsforge/internal/dataplane/server"
)

// BenchmarkChainServer measures the first connection of a filter chain: the start and stop of a
// server with two services.
func BenchmarkChainServer(b *testing.B) {
	b.ReportAllocs()
	hs := health.NewServer()
	for b.Loop() {
		s := grpc.NewServer()
		healthpb.RegisterHealthServer(s, hs)
		testpb.RegisterTestServiceServer(s, testpb.UnimplementedTestServiceServer{})
		l := server.NewLobby(&net.TCPAddr{})
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = s.Serve(l) // it ends with Stop
		}()
		s.Stop()
		<-served
	}
}
