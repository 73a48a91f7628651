package main

import (
	"context"
	"net"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"

	"example.com/acme/ratelimit"
)

// serve starts a control plane for policies on a free port. It runs until stop. Clients get
// the policies of the cache.
func serve(ctx context.Context) (policies *cachev3.LinearCache, addr string, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	policies = cachev3.NewLinearCache(ratelimit.Type().URL())
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, serverv3.NewServer(ctx, policies, nil))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with Stop
	}()
	return policies, listener.Addr().String(), func() { server.Stop(); <-done }, nil
}
