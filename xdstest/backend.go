package xdstest

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsgrpc"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A backend is the server behind a [ControlPlane].
type backend interface {
	// Put sets a resource, or the error in its place.
	Put(t *resource.Descriptor, name string, body []byte, problem *rpcstatus.Status) error
	Remove(t *resource.Descriptor, names ...string) error
	Refuse(err error)
	Disconnect(err error)
	Hold()
	Release()
	Open() int
	SubscribedTo(url string) []string
	Accepted(url string) (ok bool, why string)
	Rejections(url string) []string
	// Await waits until done returns true, and calls it after each change of the server.
	Await(ctx context.Context, done func() bool) error
}

// A checkedBackend is the server in memory that checks its clients.
type checkedBackend struct{ *memoryads.Server }

var _ backend = checkedBackend{}

func newCheckedBackend(types map[string]*resource.Descriptor) checkedBackend {
	kinds := make([]memoryads.Type, 0, len(types))
	for _, d := range types {
		kinds = append(kinds, memoryads.Type{URL: d.URL(), Complete: d.Complete, Wildcard: d.Wildcard})
	}
	return checkedBackend{memoryads.NewServer(kinds...)}
}

// Put implements backend.
func (b checkedBackend) Put(t *resource.Descriptor, name string, body []byte, problem *rpcstatus.Status) error {
	wrapped := true
	if t.PeekName != nil && problem == nil {
		own, err := t.PeekName(body)
		wrapped = err != nil || own != name
	}
	b.Set(t.URL(), memoryads.Resource{Name: name, Body: body, Error: problem, Wrapped: wrapped})
	return nil
}

// Remove implements backend.
func (b checkedBackend) Remove(t *resource.Descriptor, names ...string) error {
	b.Delete(t.URL(), names...)
	return nil
}

// A coreBackend is the core of ADS servers behind gRPC on loopback.
type coreBackend struct {
	*adsserver.Core
	memory *source.Memory
	server *grpc.Server
	served sync.WaitGroup

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced after each event
	rejections []source.Rejection
}

var _ backend = (*coreBackend)(nil)

// newCoreBackend starts a server. It returns the address.
func newCoreBackend(types map[string]*resource.Descriptor) (b *coreBackend, addr string, err error) {
	kinds := make(map[string]adsserver.Type, len(types))
	for _, d := range types {
		kinds[d.URL()] = adsserver.Type{Complete: d.Complete, Wrapped: d.PeekName == nil, PeekName: d.PeekName}
	}
	b = &coreBackend{memory: source.NewMemory(), changed: make(chan struct{})}
	b.memory.OnReport(b.rejected)
	b.Core, err = adsserver.New(adsserver.Config{
		Source: b.memory, Changed: b.wake,
		Type: func(url string) (adsserver.Type, bool) { t, ok := kinds[url]; return t, ok },
	})
	if err != nil {
		return nil, "", err
	}
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", errors.Join(err, b.Close())
	}
	b.server = grpc.NewServer(adsgrpc.ServerOptions()...)
	adsgrpc.Register(b.server, b.Core)
	b.served.Go(func() { _ = b.server.Serve(lis) }) // ends with stop
	return b, lis.Addr().String(), nil
}

func (b *coreBackend) stop() {
	b.server.Stop()
	b.served.Wait()
	_ = b.Close() // never fails
}

// wake lets Await look again.
func (b *coreBackend) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *coreBackend) rejected(r source.Rejection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rejections = append(b.rejections, r)
}

// Put implements backend.
func (b *coreBackend) Put(t *resource.Descriptor, name string, body []byte, problem *rpcstatus.Status) error {
	r := source.Resource{Key: source.Key{Type: t.URL(), Name: name}, Body: body, Err: problem}
	_, err := b.memory.Commit(context.Background(), new(source.Tx).Put(r))
	return err
}

// Remove implements backend.
func (b *coreBackend) Remove(t *resource.Descriptor, names ...string) error {
	tx := new(source.Tx)
	for _, n := range names {
		tx.Delete(source.Key{Type: t.URL(), Name: n})
	}
	_, err := b.memory.Commit(context.Background(), tx)
	return err
}

// Disconnect implements backend.
func (b *coreBackend) Disconnect(err error) { b.Cut(err) }

// Hold implements backend.
func (b *coreBackend) Hold() { b.Core.Hold(true) }

// Release implements backend.
func (b *coreBackend) Release() { b.Core.Hold(false) }

// Open implements backend.
func (b *coreBackend) Open() int { return b.OpenStreams() }

// Rejections implements backend.
func (b *coreBackend) Rejections(url string) (messages []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rejections {
		if r.Type == url {
			messages = append(messages, r.Text)
		}
	}
	return slices.Clip(messages)
}

// Await implements backend.
func (b *coreBackend) Await(ctx context.Context, done func() bool) error {
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
