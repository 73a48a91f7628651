package xdstest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A ControlPlane serves resources to clients under test. Its methods may be called from any
// goroutine, except that those that fail the test must run on the test's goroutine.
type ControlPlane struct {
	t         testing.TB
	server    *backend
	uri       string
	transport transport.Transport // nil: the default one

	types map[string]*resource.Descriptor // by the full name of the message
}

// newControlPlane returns a control plane without a backend.
func newControlPlane(t testing.TB, types []resource.Type) *ControlPlane {
	t.Helper()
	c := &ControlPlane{t: t, types: make(map[string]*resource.Descriptor)}
	for i, typ := range types {
		d := resource.Describe(typ)
		if d == nil {
			t.Fatalf("xdstest: type %d is nil or a zero handle", i+1)
		}
		c.types[d.Name] = d
	}
	if len(types) == 0 {
		t.Fatal("xdstest: a control plane needs at least one type, such as cluster.Type()")
	}
	return c
}

// served returns a type. It fails the test if the control plane does not serve it.
func (c *ControlPlane) served(message string) *resource.Descriptor {
	c.t.Helper()
	typ, ok := c.types[message]
	if !ok {
		c.t.Fatalf("xdstest: the control plane does not serve the type %q; add the type to Start or InMemory", message)
	}
	return typ
}

// of is served for a handle.
func (c *ControlPlane) of(typ resource.Type) *resource.Descriptor {
	c.t.Helper()
	d := resource.Describe(typ)
	if d == nil {
		c.t.Fatal("xdstest: the type is nil or a zero handle")
	}
	return c.served(d.Name)
}

func (c *ControlPlane) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("xdstest: %v", err)
	}
}

// BootstrapJSON returns a bootstrap that names this control plane, as a bootstrap file has it. It
// fits gRPC implementations in any language if the control plane is on loopback.
func (c *ControlPlane) BootstrapJSON() []byte {
	return fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}], "node": {"id": "xdstest"}}`, c.uri)
}

// Bootstrap returns the configuration of [ControlPlane.BootstrapJSON].
func (c *ControlPlane) Bootstrap() *bootstrap.Config {
	c.t.Helper()
	b, err := bootstrap.Parse(c.BootstrapJSON())
	c.check(err)
	return b
}

// Options returns the options that make a client or an environment use this control plane.
func (c *ControlPlane) Options() []xdsforge.Option {
	c.t.Helper()
	opts := []xdsforge.Option{xdsforge.WithBootstrap(c.Bootstrap())}
	if c.transport != nil {
		opts = append(opts, xdsforge.WithTransport(c.transport))
	}
	return opts
}

// Client returns a client that uses this control plane. It closes when the test ends. The options
// must name the types, as in xdsforge.WithTypes(cluster.Register).
func (c *ControlPlane) Client(opts ...xdsforge.Option) *xdsforge.Client {
	c.t.Helper()
	client, err := xdsforge.New(append(c.Options(), opts...)...)
	c.check(err)
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Env returns an environment that uses this control plane, for several clients, and for channels
// and servers of package grpcxds. It closes when the test ends.
func (c *ControlPlane) Env(opts ...xdsforge.Option) *xdsforge.Env {
	c.t.Helper()
	env, err := xdsforge.NewEnv(append(c.Options(), opts...)...)
	c.check(err)
	c.t.Cleanup(func() { _ = env.Close() })
	return env
}

// Set adds or replaces resources, each under the name that its message carries.
func (c *ControlPlane) Set(messages ...proto.Message) {
	c.t.Helper()
	for _, m := range messages {
		typ := c.served(messageName(m))
		if typ.PeekName == nil {
			c.t.Fatalf("xdstest: a %s carries no name; use SetNamed", typ.Name)
		}
		name, err := typ.PeekName(c.encode(m))
		c.check(err)
		c.SetNamed(name, m)
	}
}

// SetNamed adds or replaces a resource under a name. If the message has another name or none, the
// control plane sends it in a wrapper with the name.
func (c *ControlPlane) SetNamed(name string, m proto.Message) {
	c.t.Helper()
	typ := c.served(messageName(m))
	c.check(c.server.Put(typ, name, c.encode(m), nil))
}

func (c *ControlPlane) encode(m proto.Message) []byte {
	c.t.Helper()
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	c.check(err)
	return body
}

// SetError removes a resource and gives clients an error in its place (xRFC TP3). Clients read it
// as xdsforge.ErrNotFound, ErrDenied or ErrUnavailable, by its code. Set and Delete end it.
func (c *ControlPlane) SetError(typ resource.Type, name string, code codes.Code, text string) {
	c.t.Helper()
	c.check(c.server.Put(c.of(typ), name, nil, status.New(code, text).Proto()))
}

// Delete removes resources and errors. In the state-of-the-world variant, clients learn only that a
// Listener or Cluster is gone: the protocol cannot say so of other types and of errors.
func (c *ControlPlane) Delete(typ resource.Type, names ...string) {
	c.t.Helper()
	c.check(c.server.Remove(c.of(typ), names...))
}

var errDisconnected = errors.New("the test disconnected the control plane")

// Disconnect ends all streams with err and refuses new ones until [ControlPlane.Reconnect]. Clients
// keep their resources and report an ambient error of the kind xdsforge.ErrTransport. A nil err
// stands for a plain one.
func (c *ControlPlane) Disconnect(err error) {
	if err == nil {
		err = errDisconnected
	}
	c.server.Refuse(err)
	c.server.Disconnect(err)
}

// Reconnect ends [ControlPlane.Disconnect]. Clients open their streams again after their backoff:
// about a second at first, and longer the longer the outage was.
func (c *ControlPlane) Reconnect() { c.server.Refuse(nil) }

// Hold keeps responses back until release is called. They are then sent in their order. While
// responses are held back, clients wait for resources as they do for a slow control plane.
func (c *ControlPlane) Hold() (release func()) {
	c.server.Hold()
	return sync.OnceFunc(c.server.Release)
}
