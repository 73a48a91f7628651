package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func xdstpName(authority, typ, id string) string {
	return "xdstp://" + authority + "/" + typ + "/" + id
}

// federated is a bootstrap with a default server and an authority on a, and two
// authorities on b.
func federated(t *testing.T, a, b string) *bootstrap.Config {
	t.Helper()
	return config(t, bootstrap.Spec{
		Servers: []bootstrap.ServerSpec{server(a)},
		Authorities: map[string]bootstrap.AuthoritySpec{
			"east.example":  {Servers: []bootstrap.ServerSpec{server(a)}},
			"west.example":  {Servers: []bootstrap.ServerSpec{server(b)}},
			"south.example": {Servers: []bootstrap.ServerSpec{server(b)}},
		},
	})
}

func TestFederationSharesConnections(t *testing.T) {
	a, b := startServer(t), startServer(t)
	east, west, south := xdstpName("east.example", clusterName, "c"), xdstpName("west.example", clusterName, "c"), xdstpName("south.example", endpointName, "e")
	set(t, a, "plain", cluster("plain", "old"))
	set(t, a, east, cluster(east, "east"))
	set(t, b, west, cluster(west, "west"))
	set(t, b, south, assignment(south, 1))
	// A server configures its own authorities only.
	set(t, b, east, cluster(east, "forged"))

	c := newClient(t, federated(t, a.Addr(), b.Addr()))
	ctx := testContext(t)
	follow(ctx, t, c, clusters, "plain").value("old")
	follow(ctx, t, c, clusters, east).value("east")
	f := follow(ctx, t, c, clusters, west)
	f.value("west")
	follow(ctx, t, c, endpoints, south).value("")
	set(t, b, west, cluster(west, "west 2"))
	f.value("west 2")
	if a.Connections() != 1 || b.Connections() != 1 || a.Streams() != 1 || b.Streams() != 1 {
		t.Errorf("connections %d and %d, streams %d and %d; want one each", a.Connections(), b.Connections(), a.Streams(), b.Streams())
	}
	n, _ := xdstp.Parse(east)
	if u, ok := lookup(c, clusters, n.String()); !ok || u.tag != "east" {
		t.Errorf("Lookup = %v, %v", u, ok)
	}
}

// TestOldStyleNamesAreApart asks two servers for one name: as an old-style name, and in
// the empty authority (gRFC A47).
func TestOldStyleNamesAreApart(t *testing.T) {
	top, empty := startServer(t), startServer(t)
	inEmpty := xdstpName("", clusterName, "c")
	set(t, top, "c", cluster("c", "old-style"))
	set(t, empty, inEmpty, cluster(inEmpty, "empty authority"))
	c := newClient(t, config(t, bootstrap.Spec{
		Servers:     []bootstrap.ServerSpec{server(top.Addr())},
		Authorities: map[string]bootstrap.AuthoritySpec{"": {Servers: []bootstrap.ServerSpec{server(empty.Addr())}}},
	}))
	ctx := testContext(t)
	follow(ctx, t, c, clusters, inEmpty).value("empty authority")
	follow(ctx, t, c, clusters, "c").value("old-style")
}

func TestRequestsAreWhatTheProtocolWants(t *testing.T) {
	s := startServer(t)
	wire := xdstpName("east.example", clusterName, "c?a=1&b=2")
	set(t, s, wire, cluster(wire, "x"))
	c := newClient(t, federated(t, s.Addr(), s.Addr()))
	ctx := testContext(t)
	// Unsorted parameters and a directive: the name goes out canonical.
	follow(ctx, t, c, clusters, xdstpName("east.example", clusterName, "c?b=2&a=1#entry=x")).value("x")
	ack, err := s.AwaitRequest(ctx, func(r *discoveryv3.DiscoveryRequest) bool { return r.GetResponseNonce() != "" })
	if err != nil {
		t.Fatal(err)
	}
	first := s.Requests()[0]
	if n := first.GetNode(); n.GetId() != "node-1" || n.GetCluster() != "tests" || n.GetUserAgentName() != client.UserAgent || len(n.GetClientFeatures()) == 0 {
		t.Errorf("node of the first request = %v", n)
	}
	if got := first.GetResourceNames(); len(got) != 1 || got[0] != wire {
		t.Errorf("names = %q, want %q", got, wire)
	}
	if ack.GetNode() != nil || ack.GetVersionInfo() == "" || ack.GetErrorDetail() != nil || len(ack.GetResourceNames()) != 1 {
		t.Errorf("ACK = %v", ack)
	}
}

func TestRejectedResourceHarmsNoOther(t *testing.T) {
	s := startServer(t)
	set(t, s, "good", cluster("good", "1"))
	set(t, s, "bad", cluster("bad", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	good, bad := follow(ctx, t, c, clusters, "good"), follow(ctx, t, c, clusters, "bad")
	good.value("1")
	bad.value("1")

	broken := cluster("bad", "2")
	broken.LbPolicy = 5 // MAGLEV
	if err := s.Update(map[string]proto.Message{"bad": broken, "good": cluster("good", "2")}); err != nil {
		t.Fatal(err)
	}
	good.value("2")
	const field = "lb_policy = MAGLEV; must not be MAGLEV"
	if msg := bad.ambient(resource.ErrInvalid); !strings.Contains(msg, field) {
		t.Errorf("error = %s, want %q in it", msg, field)
	}
	nack, err := s.AwaitRequest(ctx, func(r *discoveryv3.DiscoveryRequest) bool { return r.GetErrorDetail() != nil })
	if err != nil {
		t.Fatal(err)
	}
	if m := nack.GetErrorDetail().GetMessage(); !strings.Contains(m, `Cluster "bad": `+field) || strings.Contains(m, "good") {
		t.Errorf("error_detail = %q", m)
	}
	if nack.GetErrorDetail().GetCode() != 3 {
		t.Errorf("code = %d, want INVALID_ARGUMENT", nack.GetErrorDetail().GetCode())
	}
	if nack.GetVersionInfo() == "" {
		t.Error("the NACK lacks the last accepted version")
	}
	set(t, s, "bad", cluster("bad", "3"))
	bad.value("3")
}

func TestRemovalIsAmbientUnlessTheServerFailsOnDataErrors(t *testing.T) {
	for _, features := range [][]any{nil, {"fail_on_data_errors"}} {
		s := startServer(t)
		set(t, s, "a", cluster("a", "1"))
		set(t, s, "b", cluster("b", "1"))
		c := newClient(t, oneServer(t, s.Addr(), features...))
		ctx := testContext(t)
		f := follow(ctx, t, c, clusters, "a")
		follow(ctx, t, c, clusters, "b").value("1")
		u := f.value("1")
		if err := s.Delete(clusterName, "a"); err != nil {
			t.Fatal(err)
		}
		if features == nil {
			f.ambient(resource.ErrRemoved)
		} else {
			f.failed(resource.ErrRemoved)
		}
		_, cached := lookup(c, clusters, "a")
		if cached != (features == nil) {
			t.Errorf("features %v: cached = %v", features, cached)
		}
		set(t, s, "a", cluster("a", "2"))
		f.value("2")
		if u.tag != "1" {
			t.Error("an update changed")
		}
	}
}

func TestReconnectResubscribes(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	f := follow(ctx, t, c, clusters, "a")
	f.value("1")
	s.Stop()
	f.ambient(resource.ErrTransport)
	set(t, s, "a", cluster("a", "2"))
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	f.value("2")
	first := s.Requests()[0]
	again, err := s.AwaitRequest(ctx, func(r *discoveryv3.DiscoveryRequest) bool { return r.GetNode() != nil && r != first })
	if err != nil {
		t.Fatal(err)
	}
	if again.GetVersionInfo() == "" || again.GetResponseNonce() != "" || len(again.GetResourceNames()) != 1 {
		t.Errorf("first request of the second stream = %v; want the version, no nonce, the name", again)
	}
}

func TestServerThatIsNotThereYet(t *testing.T) {
	s := startServer(t)
	s.Stop()
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	f := follow(ctx, t, c, clusters, "a")
	if msg := f.failed(resource.ErrTransport); !strings.Contains(msg, s.Addr()) || !strings.Contains(msg, "refused") {
		t.Errorf("error = %s, want the server and the reason", msg)
	}
	if _, err := get(ctx, c, clusters, "b"); !errors.Is(err, resource.ErrTransport) {
		t.Errorf("Get = %v, want ErrTransport", err)
	}
	set(t, s, "a", cluster("a", "1"))
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	f.value("1")
}

func TestMisuseIsAnswered(t *testing.T) {
	s := startServer(t)
	c := newClient(t, federated(t, s.Addr(), s.Addr()))
	other := &resource.Descriptor{Name: "test.Other", Decode: decodeCluster, NewShard: newShard}
	for _, m := range []struct {
		what string
		typ  *resource.Descriptor
		name string
		want string
	}{
		{"an unregistered type", other, "a", "unknown resource type test.Other"},
		{"an empty name", clusters, "", "empty"},
		{"a malformed name", clusters, "xdstp:/a/b", "xdstp:"},
		{"another type's name", clusters, xdstpName("east.example", endpointName, "x"), clusterName},
		{"an unknown authority", clusters, xdstpName("north.example", clusterName, "x"), "east.example"},
	} {
		if _, err := c.Subscribe(m.typ, m.name, delivered(recorder{})); err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("subscribing to %s: error = %v, want %q in it", m.what, err, m.want)
		}
		if _, err := c.Observe(m.typ, m.name); err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("watching %s: error = %v, want %q in it", m.what, err, m.want)
		}
		var got []error
		for ev := range m.typ.Handle().Watch(testContext(t), c, m.name) {
			if ev.Update != nil || ev.Changed || ev.Origin != resource.OriginNone {
				t.Errorf("watching %s yields %+v", m.what, ev)
			}
			got = append(got, ev.Err)
		}
		if len(got) != 1 || got[0] == nil {
			t.Errorf("watching %s yielded %v, want the one error", m.what, got)
		}
	}
	if _, err := c.Observe(clusters, xdstpName("north.example", clusterName, "x")); !errors.Is(err, bootstrap.ErrUnknownAuthority) {
		t.Errorf("error = %v, want ErrUnknownAuthority", err)
	}
	if _, err := c.Subscribe(clusters, "a", nil); err == nil {
		t.Error("Subscribe took a nil function")
	}
	if _, err := c.SubscribeAsync(clusters, "a", nil); err == nil {
		t.Error("SubscribeAsync took a nil function")
	}
	if s.Connections() != 0 {
		t.Errorf("%d connections for invalid watches, want none", s.Connections())
	}
}

func TestFederationOffMakesNamesMonolithic(t *testing.T) {
	s := startServer(t)
	name := xdstpName("nobody.example", clusterName, "c?b=2&a=1")
	set(t, s, name, cluster(name, "1"))
	cfg := config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server(s.Addr())}}, bootstrap.WithFederation(false))
	c := newClient(t, cfg)
	u := follow(testContext(t), t, c, clusters, name).value("1")
	if u.Name().IsXdstp() || u.Name().String() != name {
		t.Errorf("name = %v, want it unchanged", u.Name())
	}
}

func TestPoolIsSharedByClients(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	pool := client.NewPool(nil)
	client.SetIdleTime(pool, 0)
	defer func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	cfg := oneServer(t, s.Addr())
	one, two := newClient(t, cfg, withPool(pool)), newClient(t, cfg, withPool(pool))
	ctx := testContext(t)
	follow(ctx, t, one, clusters, "a").value("1")
	f := follow(ctx, t, two, clusters, "a")
	f.value("1")
	if s.Connections() != 1 || s.Streams() != 2 {
		t.Errorf("%d connections, %d streams; want one connection with two streams", s.Connections(), s.Streams())
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	set(t, s, "a", cluster("a", "2"))
	f.value("2") // the connection outlives the first client
}

func TestWatchYieldsStates(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	bad := cluster("a", "2")
	bad.LbPolicy = 5 // MAGLEV
	step := 0
	for ev := range clusters.Handle().Watch(ctx, c, "a") {
		step++
		u, _ := ev.Update.(*update)
		switch {
		case step == 1 && u != nil && ev.Ambient == nil && u.tag == "1":
			set(t, s, "a", bad)
		case step == 2 && u != nil && u.tag == "1" && errors.Is(ev.Ambient, resource.ErrInvalid):
			set(t, s, "a", cluster("a", "3"))
		case step == 3 && u != nil && ev.Ambient == nil && u.tag == "3":
			cancel()
		default:
			t.Fatalf("step %d: %v", step, ev)
		}
	}
	if step != 3 {
		t.Errorf("the watch ended after %d steps", step)
	}
	for ev := range clusters.Handle().Watch(testContext(t), c, "a") {
		if ev.Err != nil {
			t.Error(ev)
		}
		break // leaving the loop ends the watch
	}
	if u, err := get(testContext(t), c, clusters, "a"); err != nil || u.tag != "3" {
		t.Errorf("Get = %v, %v", u, err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	steps := 0
	for ev := range clusters.Handle().Watch(context.Background(), c, "a") {
		steps++
		if closed := errors.Is(ev.Err, resource.ErrClosed); closed != (steps == 2) || !ev.Changed {
			t.Errorf("event %d: %+v", steps, ev)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if steps != 2 {
		t.Errorf("the watch yielded %d events, want the resource and the end of the client", steps)
	}
	if _, err := c.Observe(clusters, "a"); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("Observe after Close: %v", err)
	}
	if _, err := c.Subscribe(clusters, "a", delivered(recorder{})); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
