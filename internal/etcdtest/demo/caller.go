package main

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/echo"
)

// A caller makes calls on a gRPC channel until it is closed.
type caller struct {
	mu     sync.Mutex
	calls  int
	failed []error
}

// backend starts a server of the calls.
func (s *stage) backend(ctx context.Context) (addr *net.TCPAddr, err error) {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := grpc.NewServer()
	testpb.RegisterTestServiceServer(g, echo.Server{})
	go func() { _ = g.Serve(lis) }() // ends with Stop
	s.onClose(func() error { g.Stop(); return nil })
	return lis.Addr().(*net.TCPAddr), nil
}

// call starts a channel of a daemon or balancer, and calls one after the other.
func (s *stage) call(ctx context.Context, addr string) (*caller, error) {
	config, err := bootstrap.Parse(bootstrapOf(addr, "channel"))
	if err != nil {
		return nil, err
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		return nil, err
	}
	s.onClose(env.Close)
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///shop", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	s.onClose(cc.Close)
	c := new(caller)
	stub := testpb.NewTestServiceClient(cc)
	if _, err := stub.EmptyCall(ctx, new(testpb.Empty), grpc.WaitForReady(true)); err != nil {
		return nil, fmt.Errorf("first call: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, err := stub.EmptyCall(ctx, new(testpb.Empty))
			c.mu.Lock()
			c.calls++
			if err != nil && ctx.Err() == nil {
				c.failed = append(c.failed, err)
			}
			c.mu.Unlock()
		}
	}()
	s.onClose(func() error { cancel(); <-done; return nil })
	return c, nil
}

// result returns the numbers of calls and the first failure.
func (c *caller) result() (calls int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failed) > 0 {
		return c.calls, fmt.Errorf("%d of %d calls have failed: %w", len(c.failed), c.calls, c.failed[0])
	}
	return c.calls, nil
}
