package main

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/serve"

	"example.com/acme/ratelimit"
)

// startServer starts a control plane for policies on a free port. It serves the resources of the store,
// which rejects invalid ones, until stop.
func startServer(ctx context.Context) (store publish.Store, addr string, stop func(), err error) {
	r := registry.New()
	ratelimit.Register(r)
	types, err := r.Freeze()
	if err != nil {
		return nil, "", nil, err
	}
	store = publish.NewChecked(source.NewMemory(), types)
	s, err := serve.New(types, map[string]source.Source{"": store})
	if err != nil {
		return nil, "", nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	g := grpc.NewServer(serve.ServerOptions()...)
	s.Register(g)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Serve(listener) // ends with Stop
	}()
	return store, listener.Addr().String(), func() { g.Stop(); <-done; _ = s.Close() }, nil
}
