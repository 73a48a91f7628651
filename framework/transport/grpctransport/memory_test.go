package grpctransport

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/fakeads"
)

// A memory is a network with one server, for tests in a bubble.
type memory struct {
	lis    *bufconn.Listener
	delay  time.Duration // of each dial but the first
	dialed atomic.Int32
	open   atomic.Int32
}

func newMemory() *memory { return &memory{lis: bufconn.Listen(1 << 16)} }

// serve runs a gRPC server that allows this many streams on each connection.
func (m *memory) serve(t *testing.T, streams uint32) {
	t.Helper()
	g := grpc.NewServer(grpc.MaxConcurrentStreams(streams))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, wait{})
	go func() { _ = g.Serve(m.lis) }()
	t.Cleanup(g.Stop)
}

// limit runs a server whose limit the test changes.
func (m *memory) limit(t *testing.T, streams uint32) *fakeads.NoStreams {
	t.Helper()
	s := fakeads.ServeNoStreams(m.lis)
	t.Cleanup(s.Stop)
	setLimit(t, s, streams)
	return s
}

func setLimit(t *testing.T, s *fakeads.NoStreams, streams uint32) {
	t.Helper()
	if err := s.Limit(streams); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// dial returns a connection over the network, which ends with the test.
func (m *memory) dial(t *testing.T, opts ...Option) transport.Conn {
	t.Helper()
	dialer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		if m.dialed.Add(1) > 1 {
			select {
			case <-time.NewTimer(m.delay).C:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		c, err := m.lis.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		m.open.Add(1)
		return &memoryConn{Conn: c, memory: m}, nil
	})
	return dial(t, New(append(opts, WithDialOptions(dialer))...), entry(t, "passthrough:///memory", "insecure", ""))
}

// connections fails the test unless this many connections were opened and this many are still open.
func (m *memory) connections(t *testing.T, dialed, open int32) {
	t.Helper()
	synctest.Wait()
	if d, o := m.dialed.Load(), m.open.Load(); d != dialed || o != open {
		t.Errorf("%d connections were made and %d are open, want %d and %d", d, o, dialed, open)
	}
}

// A memoryConn counts itself as open until it is closed.
type memoryConn struct {
	net.Conn
	memory *memory
	once   sync.Once
}

// Close implements [net.Conn].
func (c *memoryConn) Close() error {
	c.once.Do(func() { c.memory.open.Add(-1) })
	return c.Conn.Close()
}

// A client holds a stream until the test ends it.
type client struct {
	took time.Duration // to open the stream
	err  error
	end  context.CancelFunc
}

// openAll opens streams concurrently. It returns when each is open or has failed.
func openAll(t *testing.T, c transport.Conn, n int, answered bool) []*client {
	t.Helper()
	clients := make([]*client, n)
	var wg sync.WaitGroup
	for i := range clients {
		ctx, cancel := context.WithCancel(t.Context())
		cl := &client{end: cancel}
		clients[i] = cl
		wg.Go(func() {
			began := time.Now()
			s, err := c.OpenStream(ctx, transport.MethodADS)
			if err == nil && answered {
				_, err = s.Receive()
			}
			cl.took, cl.err = time.Since(began), err
		})
	}
	wg.Wait()
	return clients
}

// opened returns the streams and fails the test if one has failed.
func opened(t *testing.T, clients []*client) []*client {
	t.Helper()
	for i, cl := range clients {
		if cl.err != nil {
			t.Fatalf("stream %d failed: %v", i, cl.err)
		}
	}
	return clients
}

// after lets time pass.
func after(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}
