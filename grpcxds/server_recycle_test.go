package grpcxds

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/keepalive"

	"github.com/xdsforge/xdsforge/internal/fakeauthz"
)

// Callers that wait for the streams of a connection do not escape when it ends, and when they wait for those of the next one.
func TestCrowdsOfEndingConnectionsDoNotEscape(t *testing.T) {
	a, err := fakeauthz.Start(grpc.MaxConcurrentStreams(1), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 250 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Stop)
	a.Decide(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		<-time.NewTimer(100 * time.Millisecond).C // a check takes its time
		return fakeauthz.Deny(403, "no"), nil
	})
	g := guard(t, a.Addr(), strings.Replace(guardAuthz, "seconds: 5", "seconds: 1", 1))
	var all sync.WaitGroup
	for range 4 {
		c := g.dial()
		for range 50 {
			all.Go(func() {
				for range 2 {
					if _, err := c.EmptyCall(g.ctx, &testpb.Empty{}); err == nil {
						t.Error("a call runs; want a failure")
					}
				}
			})
		}
	}
	all.Wait()
}
