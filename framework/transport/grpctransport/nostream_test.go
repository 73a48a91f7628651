package grpctransport

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/fakeads"
)

func startNoStreams(t *testing.T) *fakeads.NoStreams {
	t.Helper()
	s, err := fakeads.StartNoStreams()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// A server that grants no stream counts as unreachable. Each attempt uses a new connection, which
// may reach another process.
func TestServerThatGrantsNoStream(t *testing.T) {
	s := startNoStreams(t)
	c := dial(t, New(WithStreamTimeout(100*time.Millisecond)), entry(t, s.Addr(), "insecure", ""))
	for attempt := 1; attempt <= 3; attempt++ {
		_, err := c.OpenStream(testContext(t), transport.MethodADS)
		if !errors.Is(err, &transport.Error{Kind: KindNoStream}) || !strings.Contains(err.Error(), "granted no stream within 100ms") {
			t.Errorf("error = %v, want that of a server that grants no stream", err)
		}
		if n := s.Connections(); n != attempt {
			t.Errorf("%d connections after %d attempts, want one for each", n, attempt)
		}
	}
}

func TestDefaultStreamTimeout(t *testing.T) {
	for _, tr := range []*Transport{New(), New(WithStreamTimeout(0))} {
		if tr.timeout != 20*time.Second {
			t.Errorf("timeout = %v, want 20s", tr.timeout)
		}
	}
}

// A stream opens if the server grants it in time. The caller's context ends the wait.
func TestStreamThatIsGrantedLate(t *testing.T) {
	s := startNoStreams(t)
	c := dial(t, New(), entry(t, s.Addr(), "insecure", ""))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.OpenStream(ctx, transport.MethodADS); err == nil || ctx.Err() == nil {
		t.Fatalf("error = %v before the context ended", err)
	}
	if err := s.Limit(100); err != nil {
		t.Fatal(err)
	}
	if _, err := c.OpenStream(testContext(t), transport.MethodADS); err != nil {
		t.Error(err)
	}
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// While one connection grants no stream, another one of the same server may have room again.
func TestStreamOnAConnectionThatHasRoomAgain(t *testing.T) {
	lis := listen(t)
	g := grpc.NewServer(grpc.MaxConcurrentStreams(1))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, wait{})
	go func() { _ = g.Serve(lis) }()
	t.Cleanup(g.Stop)
	grantsNothing := startNoStreams(t)
	second := make(chan struct{})
	var dials atomic.Int32
	dialer := func(ctx context.Context, _ string) (net.Conn, error) {
		addr := lis.Addr().String()
		switch n := dials.Add(1); {
		case n == 2:
			defer close(second)
			fallthrough
		case n > 2:
			addr = grantsNothing.Addr()
		}
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	c := dial(t, New(WithDialOptions(grpc.WithContextDialer(dialer))), entry(t, "passthrough:///both", "insecure", ""))
	ctx := testContext(t)
	first, cancel := context.WithCancel(ctx)
	defer cancel()
	openStream(first, t, c)
	opened := make(chan error, 1)
	go func() {
		_, err := c.OpenStream(ctx, transport.MethodADS)
		opened <- err
	}()
	<-second
	cancel()
	if err := <-opened; err != nil {
		t.Errorf("error = %v; the first connection has room", err)
	}
}
