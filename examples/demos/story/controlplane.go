package story

import (
	"context"
	"errors"
	"fmt"
	"net"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/serve"
)

// A ControlPlane serves listeners, routes, clusters and endpoints on a port of 127.0.0.1, also invalid
// ones. Programs that publish for others use a store of package publish, which rejects those.
type ControlPlane struct {
	ctx    context.Context //nolint:containedctx // of commits, which do not wait
	types  *resource.Set
	store  *source.Memory
	opts   []serve.Option
	addr   string
	server *serve.Server
	grpc   *grpc.Server
	done   chan struct{}

	rejections chan source.Rejection // the first ones that nobody has taken
}

// NewControlPlane starts a control plane without resources. It runs until Stop.
func NewControlPlane(opts ...serve.Option) (*ControlPlane, error) {
	r := registry.New()
	standard.Register(r)
	types, err := r.Freeze()
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{ctx: context.Background(), types: types, store: source.NewMemory(), opts: opts, addr: "127.0.0.1:0", rejections: make(chan source.Rejection, 10)}
	c.store.OnReport(func(r source.Rejection) {
		select {
		case c.rejections <- r:
		default: // the story has enough of them
		}
	})
	err = c.Restart()
	return c, err
}

// Restart serves the same resources on the same port again after Stop.
func (c *ControlPlane) Restart() (err error) {
	if c.server, err = serve.New(c.types, map[string]source.Source{"": c.store}, c.opts...); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(c.ctx, "tcp", c.addr)
	if err != nil {
		return errors.Join(err, c.server.Close())
	}
	c.addr, c.done = listener.Addr().String(), make(chan struct{})
	c.grpc = grpc.NewServer(serve.ServerOptions()...)
	c.server.Register(c.grpc)
	go func(s *grpc.Server, done chan<- struct{}) {
		defer close(done)
		_ = s.Serve(listener) // ends with Stop
	}(c.grpc, c.done)
	return nil
}

// Stop closes the port and every connection.
func (c *ControlPlane) Stop() {
	c.grpc.Stop()
	<-c.done
	_ = c.server.Close() // nothing is left to fail
}

// Addr returns "127.0.0.1:port".
func (c *ControlPlane) Addr() string { return c.addr }

// Set adds or replaces resources in one transaction, by name.
func (c *ControlPlane) Set(resources map[string]proto.Message) error {
	tx := new(source.Tx)
	for name, m := range resources {
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			return err
		}
		tx.Put(source.Resource{Key: key(m, name), Body: body})
	}
	_, err := c.store.Commit(c.ctx, tx)
	return err
}

// SetText adds or replaces a resource, which is parsed into m from protobuf's text format.
func (c *ControlPlane) SetText(name string, m proto.Message, format string, args ...any) error {
	if err := Parse(m, format, args...); err != nil {
		return err
	}
	return c.Set(map[string]proto.Message{name: m})
}

// Delete removes a resource of the type of a message.
func (c *ControlPlane) Delete(m proto.Message, name string) error {
	_, err := c.store.Commit(c.ctx, new(source.Tx).Delete(key(m, name)))
	return err
}

// Connections returns the number of connections that have a stream.
func (c *ControlPlane) Connections() int {
	addresses := make(map[string]bool)
	for client := range c.server.Clients() {
		addresses[client.Address] = true
	}
	return len(addresses)
}

// Load returns the totals of the load reports, by cluster, if the options include [serve.WithLoad].
func (c *ControlPlane) Load() []serve.LoadTotal { return c.server.Load() }

// Rejection waits for a resource that a client rejects.
func (c *ControlPlane) Rejection(ctx context.Context) (source.Rejection, error) {
	select {
	case r := <-c.rejections:
		return r, nil
	case <-ctx.Done():
		return source.Rejection{}, context.Cause(ctx)
	}
}

func key(m proto.Message, name string) source.Key {
	return source.Key{Type: "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName()), Name: name}
}

// Parse reads a message from protobuf's text format.
func Parse(m proto.Message, format string, args ...any) error {
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		return fmt.Errorf("story: %T: %w", m, err)
	}
	return nil
}
