package moves

import (
	"context"
	"fmt"
	"net"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // in the listener
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // in the listener
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/relay"
	"github.com/xdsforge/xdsforge/serve"
)

// The services. Clients of the first one subscribe to a cluster before the route moves to it, because another route has
// it. Those of the second one do not: they have to ask for it after the move.
const (
	known = "known"
	fresh = "fresh"
)

// listen serves the services that register adds, until the end of the test.
func listen(t *testing.T, register func(g *grpc.Server), opts ...grpc.ServerOption) (addr string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(opts...)
	register(g)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	return l.Addr().String()
}

// newBackend starts a gRPC server that answers each call with a name.
func newBackend(t *testing.T, name string) (addr string) {
	t.Helper()
	return listen(t, func(g *grpc.Server) {
		g.RegisterService(&grpc.ServiceDesc{
			ServiceName: "xdsforge.Moves",
			Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return wrapperspb.String(name), dec(new(emptypb.Empty))
			}}},
		}, nil)
	})
}

func newTypes(t *testing.T) *resource.Set {
	t.Helper()
	r := registry.New()
	standard.Register(r)
	builtin.Register(r)
	set, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// newServer serves a source, and returns its address.
func newServer(t *testing.T, s source.Source) (addr string) {
	t.Helper()
	server, err := serve.New(newTypes(t), map[string]source.Source{"": s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return listen(t, func(g *grpc.Server) { server.Register(g) }, serve.ServerOptions()...)
}

// newRelay serves the resources of a server by a relay that uses a variant of the protocol.
func newRelay(t *testing.T, upstream, variant string) (addr string) {
	t.Helper()
	config, err := bootstrap.Parse(bootstrapOf(upstream, "relay", variant))
	if err != nil {
		t.Fatal(err)
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypeSet(newTypes(t)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = c.Close()
	})
	return newServer(t, r)
}

// bootstrapOf returns the bootstrap of a client that drops resources which the server removes.
func bootstrapOf(addr, node, variant string) []byte {
	return fmt.Appendf(nil, `{"node": {"id": %q, "locality": {"zone": "z"}}, "xds_servers": [{"server_uri": "passthrough:///%s",
		"channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3", "fail_on_data_errors", %q]}]}`, node, addr, variant)
}

// put adds a resource in the text format to a transaction.
func put(t *testing.T, tx *source.Tx, name string, m proto.Message, text string) {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	tx.Put(source.Resource{Key: source.Key{Type: typeURL(m), Name: name}, Body: body})
}

func typeURL(m proto.Message) string {
	return "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName())
}

// putListener puts the listener of a service.
func putListener(t *testing.T, tx *source.Tx, service string) {
	t.Helper()
	put(t, tx, service, new(listenerv3.Listener), fmt.Sprintf(`name: %[1]q api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { route_config_name: %[1]q config_source { ads {} } }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		} } }`, service))
}

// putRoutes puts the routes of both services to a cluster. Those of the first one have the next cluster, too.
func putRoutes(t *testing.T, tx *source.Tx, cluster, next string) {
	t.Helper()
	probe := fmt.Sprintf(`routes { match { prefix: "" headers { name: "probe" present_match: true } } route { cluster: %q } } `, next)
	for service, more := range map[string]string{known: probe, fresh: ""} {
		put(t, tx, service, new(routev3.RouteConfiguration), fmt.Sprintf(
			`name: %q virtual_hosts { domains: "*" %s routes { match { prefix: "" } route { cluster: %q } } }`, service, more, cluster))
	}
}

// putCluster puts a version of a cluster, with its endpoint.
func putCluster(t *testing.T, tx *source.Tx, name string, version int, backend string) {
	t.Helper()
	host, port, err := net.SplitHostPort(backend)
	if err != nil {
		t.Fatal(err)
	}
	put(t, tx, name, new(clusterv3.Cluster), fmt.Sprintf(`name: %q type: EDS eds_cluster_config { eds_config { ads {} } } lb_policy: ROUND_ROBIN
		connect_timeout { seconds: 10 nanos: %d }`, name, version))
	put(t, tx, name, new(endpointv3.ClusterLoadAssignment), fmt.Sprintf(`cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } }`, name, host, port))
}

// deleteCluster deletes a cluster and its endpoint.
func deleteCluster(tx *source.Tx, name string) {
	tx.Delete(source.Key{Type: typeURL(new(clusterv3.Cluster)), Name: name})
	tx.Delete(source.Key{Type: typeURL(new(endpointv3.ClusterLoadAssignment)), Name: name})
}
