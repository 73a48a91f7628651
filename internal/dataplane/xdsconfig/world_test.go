package xdsconfig_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc/resolver"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a control plane, a resolver of names, and a watcher of the listener "l" for the
// authority "svc", in one bubble.
type world struct {
	t       *testing.T
	server  *memoryads.Server
	client  *client.Client
	dns     *fakeDNS
	watcher *xdsconfig.Watcher
	news    chan string
	last    *xdsconfig.Config
}

func in(t *testing.T, features string, test func(*world)) {
	t.Helper()
	inProfile(t, resource.GRPC, features, test)
}

// inProfile is in for the clients of a profile. Those of profile HTTP use all virtual hosts.
func inProfile(t *testing.T, p resource.Profile, features string, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": "memory", "channel_creds": [{"type": "insecure"}], "server_features": [%s]}], "authorities": {"e": {}}, "node": {"id": "n"}}`, features))
		if err != nil {
			t.Fatal(err)
		}
		reg := registry.New()
		standard.Register(reg)
		lbendpoint.Register(reg)
		extension.Register(reg)
		reg.Extend(serverOnly)
		reg.Extend(&resource.ClusterSpecifier{
			Config: "google.protobuf.Empty",
			Parse: func(*resource.DecodeContext, resource.TypedConfig) (resource.LBConfig, error) {
				return resource.LBConfig{Name: "chooser", Config: "{}"}, nil
			},
		})
		types, err := reg.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		if p != resource.GRPC {
			if types, err = types.Extend(p); err != nil {
				t.Fatal(err)
			}
		}
		server := memoryads.NewServer(memoryads.Type{URL: listener.Type().URL(), Complete: true}, memoryads.Type{URL: route.Type().URL()},
			memoryads.Type{URL: cluster.Type().URL(), Complete: true}, memoryads.Type{URL: endpoint.Type().URL()}, memoryads.Type{URL: listURL},
			memoryads.Type{URL: extension.Type().URL()})
		c, err := client.New(config, types, client.Options{Transport: memoryads.Network{"memory": server}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		w := &world{t: t, server: server, client: c, dns: &fakeDNS{resolvers: make(map[string]*fakeResolver)}, news: make(chan string, 1000)}
		w.watcher = xdsconfig.New(c, xdsconfig.Options{
			Listener: "l", Authority: "svc", AllHosts: p == resource.HTTP, NodeID: "n", DNS: w.dns, Servers: config.ServersFor,
			Deliver: func(c *xdsconfig.Config, err error) {
				w.last = c
				w.news <- describe(c, err)
			},
		})
		defer w.watcher.Close()
		w.watcher.Start()
		test(w)
		if v := server.Violations(); len(v) > 0 {
			t.Errorf("violations of the protocol: %q", v)
		}
	})
}

// describe returns a text like "a b: a = eds(x) b = dns", or "error".
func describe(c *xdsconfig.Config, err error) string {
	parts := []string{strings.Join(append(slices.Clone(c.Targets), slices.Sorted(maps.Keys(c.Plugins))...), " ") + ":"}
	for _, name := range slices.Sorted(maps.Keys(c.Clusters)) {
		parts = append(parts, name+"="+describeCluster(c.Clusters[name]))
	}
	if err != nil {
		parts = append(parts, "error: "+err.Error())
	}
	return strings.Join(parts, " ")
}

func describeCluster(c xdsconfig.Cluster) string {
	switch {
	case c.Err != nil:
		return "(" + c.Err.Error() + ")"
	case c.Leaves != nil:
		return strings.Join(c.Leaves, "+")
	}
	var parts []string
	for _, l := range c.Localities {
		for _, e := range l.Endpoints {
			parts = slices.AppendSeq(parts, e.Addresses())
		}
	}
	return "[" + strings.Join(parts, ",") + "]" + "{" + c.Note.Error() + "}"
}

// want waits until all goroutines are idle and all paced requests are sent. Then it compares the
// configurations since the last call.
func (w *world) want(why string, news ...string) {
	w.t.Helper()
	<-time.NewTimer(time.Second).C
	synctest.Wait()
	var got []string
	for len(w.news) > 0 {
		got = append(got, <-w.news)
	}
	if !slices.Equal(got, news) {
		w.t.Errorf("%s: the news are\n%s\nwant\n%s", why, strings.Join(got, "\n"), strings.Join(news, "\n"))
	}
}

// settle waits until all goroutines are idle and all delayed responses have arrived.
func (w *world) settle() {
	<-time.NewTimer(time.Second).C
	synctest.Wait()
}

// elapse waits until the does-not-exist timers have fired (A57).
func (w *world) elapse() {
	<-time.NewTimer(time.Minute).C
	synctest.Wait()
}

// subscribed returns the subset of these resources that the client subscribes to.
func (w *world) subscribed() string {
	w.elapse()
	names := w.server.Subscribed()
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (w *world) set(url, name string, m proto.Message, format string, args ...any) {
	w.t.Helper()
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		w.t.Fatal(err)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.server.Set(url, memoryads.Resource{Name: name, Body: body})
}

func (w *world) listener(routes string) {
	w.t.Helper()
	w.filtered(routes, "")
}

// filtered sets the Listener with HTTP filters before the router.
func (w *world) filtered(routes, filters string) {
	w.t.Helper()
	w.set(listener.Type().URL(), "l", new(listenerv3.Listener), `name: "l" api_listener { api_listener { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		%s %s http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`, routes, filters)
}

func (w *world) rds(name string) {
	w.listener(fmt.Sprintf(`rds { config_source { ads {} } route_config_name: %q }`, name))
}

// hosts returns a virtual host for "svc" with routes to the given clusters.
func hosts(clusters ...string) string {
	var b strings.Builder
	for _, c := range clusters {
		fmt.Fprintf(&b, `routes { match { prefix: "" } route { cluster: %q } } `, c)
	}
	return fmt.Sprintf(`virtual_hosts { domains: "svc" %s }`, b.String())
}

func (w *world) route(text string) {
	w.t.Helper()
	w.set(route.Type().URL(), "r", new(routev3.RouteConfiguration), `name: "r" %s`, text)
}

func (w *world) eds(name, service string) {
	w.set(cluster.Type().URL(), name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } service_name: %q }`, name, service)
}

func (w *world) logicalDNS(name, host string) {
	w.set(cluster.Type().URL(), name, new(clusterv3.Cluster), `name: %q type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints { endpoint { address { socket_address { address: %q port_value: 80 } } } } } }`, name, host)
}

func (w *world) aggregate(name string, clusters ...string) {
	w.set(cluster.Type().URL(), name, new(clusterv3.Cluster), `name: %q cluster_type { typed_config { [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: ["%s"] } } }`, name, strings.Join(clusters, `", "`))
}

func (w *world) endpoints(name string, ports ...int) {
	var b strings.Builder
	for _, p := range ports {
		fmt.Fprintf(&b, `lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" port_value: %d } } } } `, p)
	}
	w.set(endpoint.Type().URL(), name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 } %s }`, name, b.String())
}

// fakeDNS is a resolver that the test controls.
type fakeDNS struct {
	mu        sync.Mutex
	resolvers map[string]*fakeResolver
}

type fakeResolver struct {
	cc            resolver.ClientConn
	asked, closed int
}

func (d *fakeDNS) Scheme() string { return "dns" }

func (d *fakeDNS) Build(t resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	r := &fakeResolver{cc: cc}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resolvers[t.Endpoint()] = r
	return r, nil
}

func (r *fakeResolver) ResolveNow(resolver.ResolveNowOptions) { r.asked++ }
func (r *fakeResolver) Close()                                { r.closed++ }

func (r *fakeResolver) addresses(list ...string) {
	s := resolver.State{}
	for _, a := range list {
		s.Addresses = append(s.Addresses, resolver.Address{Addr: a})
	}
	_ = r.cc.UpdateState(s)
}
