package tree_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/registry"
)

// A world is a control plane, a fallback server with the same resources, and a client, in one
// bubble.
type world struct {
	t        *testing.T
	server   *memoryads.Server
	fallback *memoryads.Server
	client   *client.Client
}

// in runs a test in a world.
func in(t *testing.T, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "memory", "channel_creds": [{"type": "insecure"}]},
			{"server_uri": "fallback", "channel_creds": [{"type": "insecure"}]}], "node": {"id": "n"}}`))
		if err != nil {
			t.Fatal(err)
		}
		reg := registry.New()
		route.Register(reg)
		cluster.Register(reg)
		endpoint.Register(reg)
		types, err := reg.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		served := []memoryads.Type{{URL: route.Type().URL()}, {URL: cluster.Type().URL(), Complete: true}, {URL: endpoint.Type().URL()}}
		server, fallback := memoryads.NewServer(served...), memoryads.NewServer(served...)
		c, err := client.New(config, types, client.Options{Transport: memoryads.Network{"memory": server, "fallback": fallback}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		test(&world{t, server, fallback, c})
	})
}

// set publishes a message.
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
	w.fallback.Set(url, memoryads.Resource{Name: name, Body: body})
}

func (w *world) route(name string, clusters ...string) {
	var b strings.Builder
	for _, c := range clusters {
		fmt.Fprintf(&b, `routes { match { prefix: "" } route { cluster: %q } } `, c)
	}
	w.set(route.Type().URL(), name, new(routev3.RouteConfiguration), `name: %q virtual_hosts { domains: "*" %s }`, name, b.String())
}

func (w *world) cluster(name, service string) {
	w.set(cluster.Type().URL(), name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } service_name: %q }`, name, service)
}

func (w *world) aggregate(name string, clusters ...string) {
	w.set(cluster.Type().URL(), name, new(clusterv3.Cluster), `name: %q cluster_type { typed_config { [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: ["%s"] } } }`, name, strings.Join(clusters, `", "`))
}

func (w *world) endpoints(name string) {
	w.set(endpoint.Type().URL(), name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q`, name)
}

// elapse waits until the does-not-exist timers have fired (A57).
func (w *world) elapse() {
	<-time.NewTimer(time.Minute).C
	synctest.Wait()
}

// A watch is a tree that is watched.
type watch struct {
	w       *world
	changed chan string
}

// watch watches the tree of a route. The descriptions of its snapshots are in changed.
func (w *world) watch(ctx context.Context, name string, opts ...tree.Option) *watch {
	x := &watch{w: w, changed: make(chan string, 100)}
	go func() {
		defer close(x.changed)
		for ev := range tree.Watch(ctx, w.client, route.Type(), name, opts...) {
			x.changed <- describe(ev.Update, ev.Err)
		}
	}()
	return x
}

// describe returns a text like "route r, cluster a, endpoints a". A ! follows a missing resource.
func describe(s *tree.Snapshot, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var parts []string
	for r, state := range s.All() {
		kind := r.Type[strings.LastIndexByte(r.Type, '.')+1:]
		text := map[string]string{"RouteConfiguration": "route", "Cluster": "cluster", "ClusterLoadAssignment": "endpoints"}[kind] + " " + r.Name.String()
		if state.Update == nil {
			text += "!"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// want waits until all goroutines are idle, and compares the snapshots since the last call.
func (x *watch) want(why string, changed ...string) {
	x.w.t.Helper()
	synctest.Wait()
	var got []string
	for len(x.changed) > 0 {
		got = append(got, <-x.changed)
	}
	if !slices.Equal(got, changed) {
		x.w.t.Errorf("%s: the changed are\n%q\nwant\n%q", why, got, changed)
	}
}

func TestSnapshotsAreComplete(t *testing.T) {
	in(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		defer cancel()
		x := w.watch(ctx, "r")
		w.route("r", "a", "b", "a")
		w.cluster("a", "")
		x.want("a cluster and endpoints have not come yet")
		w.cluster("b", "b-eu")
		w.endpoints("b-eu")
		x.want("endpoints have not come yet")
		w.endpoints("a")
		x.want("all is there", "route r, cluster a, cluster b, endpoints a, endpoints b-eu")
		w.endpoints("b-eu") // the same bytes
		x.want("nothing has changed")
		w.route("r", "c")
		x.want("the route refers to a cluster that has not come yet")
		w.route("r", "b")
		x.want("it refers to one that is there", "route r, cluster b, endpoints b-eu")
		w.endpoints("a")
		x.want("nobody needs these any longer")
		w.elapse()
		if names := w.server.Subscribed(); slices.Contains(names, "a") || slices.Contains(names, "c") {
			t.Errorf("%q are still watched", names)
		}
		cancel()
		synctest.Wait()
		if _, open := <-x.changed; open {
			t.Error("the watch continues after the end of its context")
		}
		w.elapse()
		if names := w.server.Subscribed(); len(names) > 0 {
			t.Errorf("%q are still watched", names)
		}
	})
}

// A missing resource affects only resources that need it. Its arrival is a change (A37, proposal
// 500).
func TestMissingParts(t *testing.T) {
	in(t, func(w *world) {
		x := w.watch(w.t.Context(), "r")
		w.route("r", "all")
		w.aggregate("all", "a", "gone", "all")
		w.cluster("a", "")
		w.endpoints("a")
		x.want("gone may still come")
		w.server.Delete(cluster.Type().URL(), "gone")
		w.elapse()
		x.want("gone is known not to be", "route r, cluster all, cluster a, cluster gone!, endpoints a")
		w.cluster("gone", "a")
		x.want("it came after all", "route r, cluster all, cluster a, cluster gone, endpoints a")
		w.set(cluster.Type().URL(), "a", new(clusterv3.Cluster), `name: "a"`)
		x.want("a rejected version has no effect while a valid one is in use")
		w.set(route.Type().URL(), "r", new(routev3.RouteConfiguration), `name: "r" virtual_hosts { }`)
		x.want("a bad version of the root harms nothing either")
		w.client.Close()
		x.want("the client is closed", "error: closed")
		if s, open := <-x.changed; open {
			t.Errorf("the watch continues after the client has closed: %s", s)
		}
	})
}

func TestRootIsMissing(t *testing.T) {
	in(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		defer cancel()
		x := w.watch(ctx, "r")
		w.elapse()
		x.want("there is no root", `error: RouteConfiguration "r": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]`)
		w.route("r", "a")
		w.cluster("a", "")
		w.endpoints("a")
		x.want("it came", "route r, cluster a, endpoints a")
	})
}

func TestOptions(t *testing.T) {
	in(t, func(w *world) {
		w.route("r", "a", "b")
		w.cluster("a", "")
		w.cluster("b", "")
		w.endpoints("a")
		w.endpoints("b")
		ctx, cancel := context.WithCancel(w.t.Context())
		defer cancel()
		only := w.watch(ctx, "r", tree.WithFollow(func(_ resource.Update, to resource.Ref) bool { return to.Name.String() == "b" }))
		only.want("only b is followed", "route r, cluster b, endpoints b")
		five := w.watch(ctx, "r", tree.WithLimit(5))
		five.want("five are allowed", "route r, cluster a, cluster b, endpoints a, endpoints b")
		four := w.watch(ctx, "r", tree.WithLimit(4))
		four.want("four are too few", "error: "+tree.ErrTooLarge.Error()+": 4")
		w.route("r", "a")
		four.want("now they are enough", "route r, cluster a, endpoints a")
	})
}

// TestFallbackWithEqualResources expects no snapshot if another server sends the same resources.
func TestFallbackWithEqualResources(t *testing.T) {
	in(t, func(w *world) {
		w.route("r", "a")
		w.cluster("a", "")
		w.endpoints("a")
		x := w.watch(w.t.Context(), "r")
		x.want("all is there", "route r, cluster a, endpoints a")
		w.server.Refuse(errors.New("refused"))
		w.server.Disconnect(errors.New("cut"))
		w.elapse()
		w.watch(w.t.Context(), "uncached") // the reason to fall back (A71)
		w.elapse()
		if n := w.fallback.Open(); n != 1 {
			t.Errorf("%d streams to the fallback server; want 1", n)
		}
		x.want("the fallback server has the same")
		w.cluster("a", "b")
		w.endpoints("b")
		x.want("it has something else", "route r, cluster a, endpoints b")
	})
}

func TestMisuse(t *testing.T) {
	in(t, func(w *world) {
		for _, name := range []string{"", "xdstp://e/envoy.config.cluster.v3.Cluster/c"} {
			n := 0
			for ev := range tree.Watch(w.t.Context(), w.client, route.Type(), name) {
				n++
				if ev.Update != nil || ev.Err == nil {
					t.Errorf("watching %q yields %v", name, ev)
				}
			}
			if n != 1 {
				t.Errorf("watching %q yields %d times; want one error", name, n)
			}
		}
	})
}

func TestLookup(t *testing.T) {
	in(t, func(w *world) {
		w.route("r", "a")
		w.cluster("a", "")
		next, stop := iter.Pull(tree.Watch(w.t.Context(), w.client, route.Type(), "r"))
		defer stop()
		w.elapse()
		w.server.Delete(endpoint.Type().URL(), "a")
		ev, _ := next()
		if ev.Err != nil || !ev.Changed || ev.Origin != resource.OriginPrimary {
			t.Fatalf("%+v; want a snapshot", ev)
		}
		s := ev.Update
		var refs []resource.Ref
		for r := range s.All() {
			refs = append(refs, r)
		}
		if s.Len() != 3 || s.Root().Name().String() != "r" || len(refs) != 3 {
			t.Fatalf("the snapshot is %s", describe(s, nil))
		}
		if u, err := tree.Get[*cluster.Update](s, refs[1]); err != nil || u.Discovery != (cluster.EDS{ServiceName: "a"}) {
			t.Errorf("the cluster is %+v, %v", u, err)
		}
		if _, err := tree.Get[*endpoint.Update](s, refs[1]); err == nil {
			t.Error("a cluster is taken for endpoints")
		}
		if _, err := tree.Get[*endpoint.Update](s, refs[2]); !errors.Is(err, resource.ErrNotFound) {
			t.Errorf("missing endpoints: %v", err)
		}
		if _, err := s.Lookup(resource.Ref{Type: "x", Name: refs[0].Name}); !errors.Is(err, resource.ErrNotFound) {
			t.Errorf("a resource without references is watched: %v", err)
		}
	})
}
