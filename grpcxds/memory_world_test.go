package grpcxds

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A memoryWorld is a control plane, servers and channels without a network, on the clock of a
// bubble.
type memoryWorld struct {
	*testing.T
	plane   *memoryads.Server
	env     *xdsforge.Env
	sockets map[string]*memorySocket // by address
}

// inMemory runs a test in a bubble of synctest.
func inMemory(t *testing.T, test func(*memoryWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		plane := memoryads.NewServer(memoryads.Type{URL: listener.Type().URL(), Complete: true}, memoryads.Type{URL: route.Type().URL()},
			memoryads.Type{URL: cluster.Type().URL(), Complete: true}, memoryads.Type{URL: endpoint.Type().URL()}, memoryads.Type{URL: listURL},
			memoryads.Type{URL: extension.Type().URL()})
		env, err := xdsforge.NewEnv(xdsforge.WithLogger(slog.New(slog.DiscardHandler)), xdsforge.WithTransport(memoryads.Network{"memory": plane}), xdsforge.WithTypes(Register), xdsforge.WithBootstrap(parse(t, `{"node": {"id": "n"},
			"server_listener_resource_name_template": "server/%s", "xds_servers": [{"server_uri": "memory", "channel_creds": [{"type": "insecure"}]}],
			"authorities": {"nobody": {"xds_servers": [{"server_uri": "nowhere", "channel_creds": [{"type": "insecure"}]}]}}}`)))
		if err != nil {
			t.Fatal(err)
		}
		defer env.Close()
		test(&memoryWorld{T: t, plane: plane, env: env, sockets: make(map[string]*memorySocket)})
	})
}

// set publishes a resource that is given as text.
func (w *memoryWorld) set(url string, m interface {
	proto.Message
	GetName() string
}, format string, args ...any,
) {
	w.Helper()
	w.setAs(url, "", m, format, args...)
}

func (w *memoryWorld) setAs(url, name string, m proto.Message, format string, args ...any) {
	w.Helper()
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		w.Fatal(err)
	}
	if named, ok := m.(interface{ GetName() string }); ok {
		name = named.GetName()
	}
	body, err := proto.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	w.plane.Set(url, memoryads.Resource{Name: name, Body: body})
}

// apiListener returns a Listener for clients.
func (w *memoryWorld) apiListener(name, routes string) {
	w.Helper()
	w.set(listener.Type().URL(), new(listenerv3.Listener), `name: %q api_listener { api_listener { %s { %s %s } } }`, name, managerAny, routes, routerFilter)
}

func (w *memoryWorld) routes(name, hosts string) {
	w.Helper()
	w.set(route.Type().URL(), new(routev3.RouteConfiguration), `name: %q %s`, name, hosts)
}

// cluster returns a cluster with an endpoint at an address.
func (w *memoryWorld) cluster(name, host string, port int) {
	w.Helper()
	w.set(cluster.Type().URL(), new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } }`, name)
	w.setAs(endpoint.Type().URL(), name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "r" }
		load_balancing_weight { value: 1 } lb_endpoints { endpoint { address { socket_address { address: %q port_value: %d } } } } }`, name, host, port)
}

// pass advances time until all goroutines are idle again.
func (w *memoryWorld) pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// A memorySocket is a listening socket with a TCP address.
type memorySocket struct {
	*bufconn.Listener
	addr *net.TCPAddr
	from int // the port of incoming connections
	// dialed counts the connections.
	dialed atomic.Int64
	closed atomic.Bool // by the test
}

// Addr implements [net.Listener].
func (s *memorySocket) Addr() net.Addr { return s.addr }

// Accept implements [net.Listener].
func (s *memorySocket) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &memoryConn{c, s.addr, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 99), Port: s.from}}, nil
}

// fail closes the socket while a server accepts from it.
func (s *memorySocket) fail() {
	s.closed.Store(true)
	_ = s.Close() // Accept tells
}

// A memoryConn is a connection with TCP addresses.
type memoryConn struct {
	net.Conn
	local, remote *net.TCPAddr
}

// LocalAddr implements [net.Conn].
func (c *memoryConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements [net.Conn].
func (c *memoryConn) RemoteAddr() net.Addr { return c.remote }

// listen opens a socket on an address.
func (w *memoryWorld) listen(addr string) *memorySocket {
	w.Helper()
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		w.Fatal(err)
	}
	s := &memorySocket{Listener: bufconn.Listen(1 << 16), addr: tcp}
	w.sockets[addr] = s
	return s
}

// A memorySite is a server of the control plane that serves on one address.
type memorySite struct {
	*Server
	events chan event // its modes
	socket *memorySocket
	served chan error
}

// serve runs a server on an address until the test ends.
func (w *memoryWorld) serve(addr string, opts ...grpc.ServerOption) *memorySite {
	w.Helper()
	return w.serveWith(ServerConfig{}, addr, opts...)
}

// serveWith runs a server with a configuration.
func (w *memoryWorld) serveWith(c ServerConfig, addr string, opts ...grpc.ServerOption) *memorySite {
	w.Helper()
	s := &memorySite{events: make(chan event, 100), socket: w.listen(addr), served: make(chan error, 1)}
	c.Env, c.ModeChanged = w.env, func(m ModeChange) { s.events <- event{m.Mode, m.Err} }
	var err error
	s.Server, err = c.NewServer(opts...)
	if err != nil {
		w.Fatal(err)
	}
	testpb.RegisterTestServiceServer(s, echo{})
	go func() { s.served <- s.Serve(s.socket) }()
	w.Cleanup(func() {
		s.Stop()
		if err := <-s.served; err != nil && !s.socket.closed.Load() {
			w.Errorf("Serve: %v", err)
		}
	})
	return s
}

// publish sets the Listener of a server on 10.0.0.1:80.
func (w *memoryWorld) publish(chains ...string) {
	w.Helper()
	w.set(listener.Type().URL(), new(listenerv3.Listener), `name: "server/10.0.0.1:80" address { socket_address { address: "10.0.0.1" port_value: 80 } } %s`, strings.Join(chains, " "))
}

// anyChain is a filter chain for all connections.
func anyChain(manager string) string { return "filter_chains { " + network(manager) + " }" }

// backend serves on an address without a control plane.
func (w *memoryWorld) backend(addr string) {
	w.Helper()
	s, socket := grpc.NewServer(), w.listen(addr)
	testpb.RegisterTestServiceServer(s, echo{})
	go func() { _ = s.Serve(socket) }() // ends with Stop
	w.Cleanup(s.Stop)
}

// channel returns a channel for a target whose connections go to the sockets.
func (w *memoryWorld) channel(target string, opts ...grpc.DialOption) *grpc.ClientConn {
	w.Helper()
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			s, ok := w.sockets[addr]
			if !ok {
				return nil, fmt.Errorf("nobody listens on %s", addr)
			}
			s.dialed.Add(1)
			return s.DialContext(ctx)
		}))
	cc, err := grpc.NewClient(target, opts...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = cc.Close() })
	return cc
}

// channelXDS returns a channel that the control plane configures.
func (w *memoryWorld) channelXDS(target string) *grpc.ClientConn {
	w.Helper()
	return w.channel(target, Dialer{Env: w.env}.DialOptions()...)
}

func (w *memoryWorld) dial(target string) testpb.TestServiceClient {
	w.Helper()
	return testpb.NewTestServiceClient(w.channel(target))
}

func (w *memoryWorld) dialXDS(target string) testpb.TestServiceClient {
	w.Helper()
	return testpb.NewTestServiceClient(w.channelXDS(target))
}

// call makes a call with a time limit, and an authority if it is not empty.
func (w *memoryWorld) call(c testpb.TestServiceClient, limit time.Duration, headers ...string) *status.Status {
	ctx, cancel := context.WithTimeout(w.Context(), limit)
	defer cancel()
	_, err := c.EmptyCall(metadata.AppendToOutgoingContext(ctx, headers...), &testpb.Empty{})
	return status.Convert(err)
}

// expect checks the status code of a call and the parts of its message.
func (w *memoryWorld) expect(what string, st *status.Status, code codes.Code, parts ...string) {
	w.Helper()
	for _, part := range append(parts, "") {
		if st.Code() != code || !strings.Contains(st.Message(), part) {
			w.Errorf("%s: %v; want %v with %q", what, st, code, part)
			return
		}
	}
}
