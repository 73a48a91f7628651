package client_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// deafTransport opens no stream, so that a benchmark measures the client alone.
type deafTransport struct{}

// Dial implements [transport.Transport].
func (deafTransport) Dial(*bootstrap.Server) (transport.Conn, error) { return deafTransport{}, nil }

// OpenStream implements [transport.Conn].
func (deafTransport) OpenStream(ctx context.Context, _ string) (transport.Stream, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Close implements [transport.Conn].
func (deafTransport) Close() error { return nil }

// BenchmarkSubscribe subscribes to new names until the loop has handled all of them.
func BenchmarkSubscribe(b *testing.B) {
	names := make([]string, 20_000)
	for i := range names {
		names[i] = "name-" + strconv.Itoa(i)
	}
	b.ReportAllocs()
	for left := b.N; left > 0; left -= len(names) {
		b.StopTimer()
		c := newClientOf(b, oneServer(b, "memory:1"), []*resource.Descriptor{things}, withTransport(deafTransport{}))
		typ := things.Handle()
		b.StartTimer()
		for _, name := range names[:min(left, len(names))] {
			if _, err := typ.Subscribe(c, name, func(resource.Event[resource.Update]) {}); err != nil {
				b.Fatal(err)
			}
		}
		c.Drain()
		b.StopTimer()
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
