package controlplane

import (
	"context"
	"io"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/config"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// Memory is go-control-plane's real ADS server, reached without a network. It implements
// [transport.Transport] and works in a bubble of testing/synctest.
type Memory struct {
	server serverv3.Server

	mu       sync.Mutex
	requests []proto.Message
}

// InMemory serves a cache, which may be of any kind.
func InMemory(cache cachev3.Cache, opts ...config.XDSOption) *Memory {
	return &Memory{server: serverv3.NewServer(context.Background(), cache, nil, opts...)}
}

// Requests are the requests of both variants that arrived so far, in their order.
func (m *Memory) Requests() []proto.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]proto.Message(nil), m.requests...)
}

// Dial implements [transport.Transport]. Every server entry reaches the same server.
func (m *Memory) Dial(*bootstrap.Server) (transport.Conn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	return &memoryConn{server: m, ctx: ctx, cancel: cancel}, nil
}

type memoryConn struct {
	server *Memory
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// OpenStream implements [transport.Conn].
func (c *memoryConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel) //nolint:contextcheck // the connection ends the stream, too
	end := func() { stop(); cancel() }
	if method == transport.MethodDeltaADS {
		return start[discoveryv3.DeltaDiscoveryRequest, discoveryv3.DeltaDiscoveryResponse](ctx, c, end, c.server.server.DeltaAggregatedResources), nil
	}
	return start[discoveryv3.DiscoveryRequest, discoveryv3.DiscoveryResponse](ctx, c, end, c.server.server.StreamAggregatedResources), nil
}

// Close implements [transport.Conn].
func (c *memoryConn) Close() error {
	c.cancel()
	c.wg.Wait()
	return nil
}

// start runs a handler of the server and returns the client's end of its stream.
func start[Req, Resp any, S grpc.BidiStreamingServer[Req, Resp]](ctx context.Context, c *memoryConn, end func(), handle func(S) error) transport.Stream {
	p := &pipe[Req, Resp]{ctx: ctx, server: c.server, in: make(chan *Req), out: make(chan *Resp), ended: make(chan struct{})}
	c.wg.Go(func() {
		defer end()
		p.err = handle(any(serverEnd[Req, Resp]{pipe: p}).(S))
		close(p.ended)
	})
	return clientEnd[Req, Resp]{p}
}

// A pipe is one ADS stream.
type pipe[Req, Resp any] struct {
	ctx    context.Context //nolint:containedctx // the stream's
	server *Memory
	in     chan *Req
	out    chan *Resp
	ended  chan struct{}
	err    error // of the handler, once ended is closed
}

type serverEnd[Req, Resp any] struct {
	grpc.ServerStream // the rest of the interface is not used
	*pipe[Req, Resp]
}

// Context implements [grpc.ServerStream].
func (e serverEnd[Req, Resp]) Context() context.Context { return e.ctx }

// Recv implements [grpc.BidiStreamingServer].
func (e serverEnd[Req, Resp]) Recv() (*Req, error) {
	select {
	case req := <-e.in:
		return req, nil
	case <-e.ctx.Done():
		return nil, context.Cause(e.ctx)
	}
}

// Send implements [grpc.BidiStreamingServer].
func (e serverEnd[Req, Resp]) Send(resp *Resp) error {
	select {
	case e.out <- resp:
		return nil
	case <-e.ctx.Done():
		return context.Cause(e.ctx)
	}
}

type clientEnd[Req, Resp any] struct{ *pipe[Req, Resp] }

// Send implements [transport.Stream].
func (e clientEnd[Req, Resp]) Send(raw []byte) error {
	req := new(Req)
	msg := any(req).(proto.Message)
	if err := proto.Unmarshal(raw, msg); err != nil {
		return err
	}
	e.server.mu.Lock()
	e.server.requests = append(e.server.requests, proto.Clone(msg)) // the server writes to its own
	e.server.mu.Unlock()
	select {
	case e.in <- req:
		return nil
	case <-e.ended:
		return io.EOF
	case <-e.ctx.Done():
		return context.Cause(e.ctx)
	}
}

// Receive implements [transport.Stream].
func (e clientEnd[Req, Resp]) Receive() ([]byte, error) {
	select {
	case resp := <-e.out:
		return proto.Marshal(any(resp).(proto.Message))
	case <-e.ended:
		if e.err == nil {
			return nil, io.EOF
		}
		return nil, e.err
	}
}
