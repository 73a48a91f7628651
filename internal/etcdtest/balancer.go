package etcdtest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// A Balancer forwards TCP connections to the first backend that accepts them, as a load balancer or a service of
// Kubernetes does. Clients have one address for all backends.
type Balancer struct {
	listener net.Listener
	mu       sync.Mutex
	backends []string
	sent     atomic.Int64
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

// NewBalancer returns a balancer on a free port of loopback.
func NewBalancer(backends ...string) (*Balancer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, err
	}
	b := &Balancer{listener: l, backends: backends, cancel: cancel}
	b.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.done.Go(func() { b.forward(ctx, c) })
		}
	})
	return b, nil
}

// SetBackends sets the backends of new connections.
func (b *Balancer) SetBackends(backends ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = backends
}

// Addr returns "127.0.0.1:port".
func (b *Balancer) Addr() string { return b.listener.Addr().String() }

// Sent returns the number of bytes that the backends have sent to clients so far.
func (b *Balancer) Sent() int64 { return b.sent.Load() }

// Close ends the balancer and its connections.
func (b *Balancer) Close() error {
	b.cancel()
	err := b.listener.Close()
	b.done.Wait()
	return err
}

// forward connects a client with a backend until one of them, or the balancer, closes.
func (b *Balancer) forward(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	b.mu.Lock()
	backends := b.backends
	b.mu.Unlock()
	backend := dialFirst(ctx, backends)
	if backend == nil {
		return
	}
	closeBoth := func() { _ = errors.Join(client.Close(), backend.Close()) }
	defer closeBoth()
	stop := context.AfterFunc(ctx, closeBoth)
	defer stop()
	b.done.Go(func() {
		defer closeBoth()
		_, _ = io.Copy(backend, client) // ends with a connection
	})
	_, _ = io.Copy(&counter{client, &b.sent}, backend) // ends with a connection
}

// dialFirst returns a connection to the first backend that accepts it, or nil.
func dialFirst(ctx context.Context, backends []string) net.Conn {
	for _, addr := range backends {
		if c, err := new(net.Dialer).DialContext(ctx, "tcp", addr); err == nil {
			return c
		}
	}
	return nil
}

// A counter counts the bytes that are written.
type counter struct {
	io.Writer
	n *atomic.Int64
}

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.Writer.Write(p)
}
