package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // in the listener
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // in the listener

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/serve"
)

const (
	service = "checkout"
	target  = "xds:///" + service
)

// A world is a server with the resources of one service, and its backends.
type world struct {
	store    *source.Memory
	server   *serve.Server
	grpc     *grpc.Server
	addr     string
	backends map[string]string // addresses by name
	stops    []func()
}

func newWorld(ctx context.Context) (w *world, err error) {
	w = &world{store: source.NewMemory(), addr: "127.0.0.1:0", backends: make(map[string]string)}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for _, name := range []string{"a", "b", "c"} {
		if w.backends[name], err = w.backend(ctx, name); err != nil {
			return w, err
		}
	}
	if err = w.publish(ctx, fixed()); err == nil {
		err = w.assign(ctx, "a")
	}
	if err == nil {
		err = w.start(ctx)
	}
	return w, err
}

// start starts the server, on the same port as before.
func (w *world) start(ctx context.Context) error {
	r := registry.New()
	standard.Register(r)
	builtin.Register(r)
	set, err := r.Freeze()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", w.addr)
	if err != nil {
		return err
	}
	w.addr = listener.Addr().String()
	if w.server, err = serve.New(set, map[string]source.Source{"": w.store}); err != nil { //nolint:contextcheck // a server ends with Close
		return errors.Join(err, listener.Close())
	}
	w.grpc = grpc.NewServer(serve.ServerOptions()...)
	w.server.Register(w.grpc) //nolint:contextcheck // streams have contexts of their own
	go func() { _ = w.grpc.Serve(listener) }()
	return nil
}

// stop stops the server.
func (w *world) stop() {
	if w.server != nil {
		w.grpc.Stop()
		_ = w.server.Close() // nothing is left to do
		w.server = nil
	}
}

func (w *world) close() {
	w.stop()
	for _, stop := range w.stops {
		stop()
	}
}

// backend starts a gRPC server that answers with its name.
func (w *world) backend(ctx context.Context, name string) (addr string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	g := grpc.NewServer()
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: "xdsforge.Peer",
		Methods: []grpc.MethodDesc{{MethodName: "Who", Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			return wrapperspb.String(name), dec(new(emptypb.Empty))
		}}},
	}, nil)
	go func() { _ = g.Serve(listener) }()
	w.stops = append(w.stops, g.Stop)
	return listener.Addr().String(), nil
}

// bootstrap returns the bootstrap of a client.
func (w *world) bootstrap(node string) []byte {
	return fmt.Appendf(nil, `{"node": {"id": %q, "cluster": "test", "locality": {"zone": "z"}}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3"]}]}`, node, w.addr)
}

// publish puts resources without a check, so that invalid ones reach the clients.
func (w *world) publish(ctx context.Context, list []proto.Message) error {
	tx := new(source.Tx)
	for _, m := range list {
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			return err
		}
		tx.Put(source.Resource{Key: source.Key{Type: "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName()), Name: nameOf(m)}, Body: body})
	}
	_, err := w.store.Commit(ctx, tx)
	return err
}

func nameOf(m proto.Message) string {
	if a, ok := m.(*endpointv3.ClusterLoadAssignment); ok {
		return a.GetClusterName()
	}
	return service
}

// fixed returns the resources that never change.
func fixed() []proto.Message {
	l, r, c := new(listenerv3.Listener), new(routev3.RouteConfiguration), new(clusterv3.Cluster)
	for text, m := range map[string]proto.Message{
		`name: "checkout" api_listener { api_listener {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				rds { route_config_name: "checkout" config_source { ads {} } }
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
			} } }`: l,
		`name: "checkout" virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "checkout" } } }`:           r,
		`name: "checkout" type: EDS eds_cluster_config { eds_config { ads {} } service_name: "checkout" } lb_policy: ROUND_ROBIN`: c,
	} {
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			panic(err) // the texts are part of the program
		}
	}
	return []proto.Message{l, r, c}
}

// assign publishes the endpoint of a backend. An unknown backend makes the assignment invalid: it has
// priority 1 without priority 0.
func (w *world) assign(ctx context.Context, backend string) error {
	addr, valid := w.backends[backend]
	priority := 0
	if !valid {
		addr, priority = w.backends["a"], 1
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	a := new(endpointv3.ClusterLoadAssignment)
	if err := prototext.Unmarshal(fmt.Appendf(nil, `cluster_name: "checkout" endpoints { priority: %d locality { region: "r" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: %q port_value: %d } } } } }`, priority, host, port), a); err != nil {
		return err
	}
	return w.publish(ctx, []proto.Message{a})
}

// client returns the state of the client of a node, or nil.
func (w *world) client(node string) *serve.Client {
	for c := range w.server.Clients() {
		if c.Node == node {
			return &c
		}
	}
	return nil
}

// accepted reports whether a client has accepted the newest resources of a number of types.
func accepted(c *serve.Client, types int) bool {
	return c != nil && len(c.Types) == types && !slices.ContainsFunc(c.Types, func(t serve.ClientType) bool { return !t.UpToDate })
}

// rejection returns the reason of the last rejected assignment.
func rejection(c *serve.Client) string {
	if c != nil {
		for _, t := range c.Types {
			if strings.HasSuffix(t.URL, "ClusterLoadAssignment") && t.Rejections > 0 {
				return t.Reason
			}
		}
	}
	return ""
}

// until repeats f until it returns true.
func until(ctx context.Context, event string, f func() bool) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !f() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", event, context.Cause(ctx))
		}
	}
	return nil
}
