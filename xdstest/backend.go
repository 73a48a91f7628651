package xdstest

import (
	"context"
	"net"
	"slices"
	"sync"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsgrpc"
)

// A backend is the server behind a [ControlPlane]: the core of ADS servers.
type backend struct {
	*adsserver.Core
	memory *source.Memory
	server *grpc.Server // nil: in memory
	served sync.WaitGroup

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced after each event
	rejections []source.Rejection
}

// newBackend returns a server without connections.
func newBackend(types map[string]*resource.Descriptor) (*backend, error) {
	kinds := make(map[string]adsserver.Type, len(types))
	for _, d := range types {
		kinds[d.URL()] = adsserver.Type{Complete: d.Complete, Wrapped: d.PeekName == nil, PeekName: d.PeekName}
	}
	b := &backend{memory: source.NewMemory(), changed: make(chan struct{})}
	b.memory.OnReport(b.rejected)
	var err error
	b.Core, err = adsserver.New(adsserver.Config{
		Source: b.memory, Changed: b.wake,
		Type: func(url string) (adsserver.Type, bool) { t, ok := kinds[url]; return t, ok },
	})
	return b, err
}

// listen serves clients on loopback. It returns the address.
func (b *backend) listen() (addr string, err error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	b.server = grpc.NewServer(adsgrpc.ServerOptions()...)
	adsgrpc.Register(b.server, b.Core)
	b.served.Go(func() { _ = b.server.Serve(lis) }) // ends with stop
	return lis.Addr().String(), nil
}

func (b *backend) stop() {
	if b.server != nil {
		b.server.Stop()
		b.served.Wait()
	}
	_ = b.Close() // never fails
}

// wake lets Await look again.
func (b *backend) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *backend) rejected(r source.Rejection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rejections = append(b.rejections, r)
}

// Put sets a resource, or the error in its place.
func (b *backend) Put(t *resource.Descriptor, name string, body []byte, problem *rpcstatus.Status) error {
	r := source.Resource{Key: source.Key{Type: t.URL(), Name: name}, Body: body, Err: problem}
	_, err := b.memory.Commit(context.Background(), new(source.Tx).Put(r))
	return err
}

// Remove removes resources and errors.
func (b *backend) Remove(t *resource.Descriptor, names ...string) error {
	tx := new(source.Tx)
	for _, n := range names {
		tx.Delete(source.Key{Type: t.URL(), Name: n})
	}
	_, err := b.memory.Commit(context.Background(), tx)
	return err
}

// Disconnect ends all streams.
func (b *backend) Disconnect(err error) { b.Cut(err) }

// Hold holds all responses back.
func (b *backend) Hold() { b.Core.Hold(true) }

// Release ends Hold.
func (b *backend) Release() { b.Core.Hold(false) }

// Open returns the number of open streams.
func (b *backend) Open() int { return b.OpenStreams() }

// Rejections returns the messages of the NACKs of a type, oldest first.
func (b *backend) Rejections(url string) (messages []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rejections {
		if r.Type == url {
			messages = append(messages, r.Text)
		}
	}
	return slices.Clip(messages)
}

// Await waits until done returns true, and calls it after each change of the server.
func (b *backend) Await(ctx context.Context, done func() bool) error {
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
