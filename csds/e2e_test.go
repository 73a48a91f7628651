package csds_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// The tests of this file check what grpc-go's end-to-end tests of its CSDS check: two clients of one
// control plane, a rejected resource, and no client. They read the state by a stream over the network.

// An e2e is a control plane with two clients, and a stream of CSDS.
type e2e struct {
	*testing.T
	plane   *memoryads.Server
	env     *xdsforge.Env
	clients []*xdsforge.Client
	stream  grpc.BidiStreamingClient[statusv3.ClientStatusRequest, statusv3.ClientStatusResponse]
}

func newE2E(t *testing.T, scopes ...string) *e2e {
	t.Helper()
	plane, addr := newPlane(t)
	e := &e2e{T: t, plane: plane}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "n"}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, addr))
	if err != nil {
		t.Fatal(err)
	}
	if e.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.env.Close() })
	for _, scope := range scopes {
		c, err := e.env.NewNamedClient(scope)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		e.clients = append(e.clients, c)
	}
	cc := dial(t, func(s *grpc.Server) {
		if err := csds.Register(s, e.env); err != nil {
			t.Fatal(err)
		}
	})
	if e.stream, err = statusv3.NewClientStatusDiscoveryServiceClient(cc).StreamClientStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// hold watches a resource with a client until the test ends.
func hold[U resource.Update](e *e2e, client int, typ resource.TypeOf[U], name string) {
	e.Helper()
	stop, err := typ.Subscribe(e.clients[client], name, func(resource.Event[U]) {})
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(stop)
}

// set gives the control plane resources by name, in one version of each type.
func (e *e2e) set(resources map[string]proto.Message) {
	e.Helper()
	types := make(map[string][]memoryads.Resource)
	for name, m := range resources {
		a := pack(e.T, m)
		types[a.GetTypeUrl()] = append(types[a.GetTypeUrl()], memoryads.Resource{Name: name, Body: a.GetValue()})
	}
	for url, list := range types {
		e.plane.Set(url, list...)
	}
}

func (e *e2e) ask() *statusv3.ClientStatusResponse {
	e.Helper()
	if err := e.stream.Send(new(statusv3.ClientStatusRequest)); err != nil {
		e.Fatal(err)
	}
	resp, err := e.stream.Recv()
	if err != nil {
		e.Fatal(err)
	}
	return resp
}

// await asks until the clients, in their order, have the wanted entries in the order of types and
// names. Times and the details of errors may have any value.
func (e *e2e) await(want ...[]*statusv3.ClientConfig_GenericXdsConfig) {
	e.Helper()
	wanted := new(statusv3.ClientStatusResponse)
	snapshots, err := e.env.Snapshots(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	for i, entries := range want {
		slices.SortFunc(entries, func(a, b *statusv3.ClientConfig_GenericXdsConfig) int {
			return cmp.Or(strings.Compare(a.GetTypeUrl(), b.GetTypeUrl()), strings.Compare(a.GetName(), b.GetName()))
		})
		wanted.Config = append(wanted.Config, &statusv3.ClientConfig{Node: snapshots[i].Node, ClientScope: snapshots[i].Scope, GenericXdsConfigs: entries})
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		diff := gocmp.Diff(wanted, e.ask(), protocmp.Transform(),
			protocmp.IgnoreFields(new(statusv3.ClientConfig_GenericXdsConfig), "last_updated"),
			protocmp.IgnoreFields(new(adminv3.UpdateFailureState), "last_update_attempt", "details"))
		if diff == "" {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			e.Fatalf("the state differs from the wanted one: %s", diff)
		}
	}
}

// entry is an entry of a resource that was requested, or is in use in a version.
func (e *e2e) entry(name, version string, m proto.Message) *statusv3.ClientConfig_GenericXdsConfig {
	e.Helper()
	a := pack(e.T, m)
	g := &statusv3.ClientConfig_GenericXdsConfig{TypeUrl: a.GetTypeUrl(), Name: name, ClientStatus: adminv3.ClientResourceStatus_REQUESTED}
	if version != "" {
		g.VersionInfo, g.XdsConfig, g.ClientStatus = version, a, adminv3.ClientResourceStatus_ACKED
	}
	return g
}

func parse[M proto.Message](t *testing.T, m M, text string) M {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func apiListener(t *testing.T, name, routes string) *listenerv3.Listener {
	t.Helper()
	return parse(t, new(listenerv3.Listener), `name: "`+name+`" api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { config_source { ads {} } route_config_name: "`+routes+`" }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		} } }`)
}

// Two clients watch two resources of each type: first without and then with an answer.
func TestE2E(t *testing.T) {
	e := newE2E(t, "client-1", "client-2")
	e.await(nil, nil)
	resources := make(map[string]proto.Message)
	for _, n := range []string{"0", "1"} {
		resources["listener-"+n] = apiListener(t, "listener-"+n, "routes-"+n)
		resources["routes-"+n] = parse(t, new(routev3.RouteConfiguration), `name: "routes-`+n+`" virtual_hosts {
			name: "h" domains: "*" routes { match { prefix: "" } route { cluster: "cluster-`+n+`" } } }`)
		resources["cluster-"+n] = validCluster("cluster-"+n, "stat")
		resources["endpoints-"+n] = parse(t, new(endpointv3.ClusterLoadAssignment), `cluster_name: "endpoints-`+n+`"`)
		for client := range e.clients {
			hold(e, client, listener.Type(), "listener-"+n)
			hold(e, client, route.Type(), "routes-"+n)
			hold(e, client, cluster.Type(), "cluster-"+n)
			hold(e, client, endpoint.Type(), "endpoints-"+n)
		}
	}
	entries := func(version string) (list []*statusv3.ClientConfig_GenericXdsConfig) {
		for name, m := range resources {
			list = append(list, e.entry(name, version, m))
		}
		return list
	}
	e.await(entries(""), entries(""))
	e.set(resources)
	e.await(entries("1"), entries("1"))
}

// Each client watches another resource. One of them becomes invalid: its client keeps the previous
// version and shows the rejected one.
func TestE2ENack(t *testing.T) {
	e := newE2E(t, "client-1", "client-2")
	good, bad := apiListener(t, "good", "routes"), apiListener(t, "bad", "routes")
	hold(e, 0, listener.Type(), "good")
	hold(e, 1, listener.Type(), "bad")
	type list = []*statusv3.ClientConfig_GenericXdsConfig
	e.await(list{e.entry("good", "", good)}, list{e.entry("bad", "", bad)})
	e.set(map[string]proto.Message{"good": good, "bad": bad})
	e.await(list{e.entry("good", "1", good)}, list{e.entry("bad", "1", bad)})
	invalid := apiListener(t, "bad", "routes")
	invalid.ApiListener = nil
	e.set(map[string]proto.Message{"bad": invalid})
	rejected := e.entry("bad", "1", bad)
	rejected.ClientStatus, rejected.ErrorState = adminv3.ClientResourceStatus_NACKED, &adminv3.UpdateFailureState{VersionInfo: "2"}
	e.await(list{e.entry("good", "1", good)}, list{rejected})
}

// Without a client, the response is empty.
func TestE2EWithoutClients(t *testing.T) {
	if resp := newE2E(t).ask(); len(resp.GetConfig()) != 0 {
		t.Errorf("response = %v, want no client", resp)
	}
}
