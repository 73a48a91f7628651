package grpcxds_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/internal/netproxy"
)

// A tier is a control plane behind a proxy, and the backend that its resources configure. All
// resources but the Listener have their own names.
type tier struct {
	*plane
	proxy *netproxy.Proxy
	name  string
}

// newTier returns a reachable control plane without resources.
func newTier(t *testing.T, name string) *tier {
	t.Helper()
	p := newPlane(t)
	proxy, err := netproxy.Start(p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return &tier{p, proxy, name}
}

func (r *tier) route() string   { return "route-" + r.name }
func (r *tier) cluster() string { return "cluster-" + r.name }

// serve publishes all resources from the Listener to the backend.
func (r *tier) serve() {
	r.Helper()
	r.plane.cluster(r.cluster(), "endpoints-"+r.name, newBackend(r.TB, r.name))
	r.routes(r.route(), hosts("svc", to(r.cluster())))
	r.listener("svc", rds(r.route()))
}

// down makes the control plane unreachable, up reachable.
func (r *tier) down() {
	r.proxy.Refuse()
	r.proxy.Disconnect()
}

func (r *tier) up() { r.proxy.Accept() }

// left waits until no client is connected.
func (r *tier) left() {
	r.Helper()
	if !r.proxy.Await(soon(r.TB), func(_, now int) bool { return now == 0 }) {
		r.Fatalf("%s: a connection stays although a better server has taken over", r.name)
	}
}

// unused fails the test if a client has connected since the given number of connections.
func (r *tier) unused(before int) {
	r.Helper()
	if accepted, _ := r.proxy.Connections(); accepted != before {
		r.Errorf("%s: %d connections, want %d: nothing uncached needs it", r.name, accepted, before)
	}
}

// newFallbackChannel returns a channel whose control planes are the tiers, in order of preference.
func newFallbackChannel(t *testing.T, tiers ...*tier) *grpc.ClientConn {
	t.Helper()
	var entries []string
	for _, r := range tiers {
		entries = append(entries, fmt.Sprintf(`{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}`, r.proxy.Addr()))
	}
	env := newEnv(t, fmt.Sprintf(`{"xds_servers": [%s], "node": {"id": "n"}}`, strings.Join(entries, ", ")))
	return newChannel(t, env, "xds:///svc")
}

// cutAt makes the control plane unreachable when a client subscribes to a cluster.
func (r *tier) cutAt(cluster string) (done <-chan error) {
	ctx, cut := soon(r.TB), make(chan error, 1)
	go func() {
		_, err := r.AwaitRequest(ctx, func(req *discoveryv3.DiscoveryRequest) bool {
			return slices.Contains(req.GetResourceNames(), cluster)
		})
		r.down()
		cut <- err
	}()
	return cut
}

// No control plane is reachable at first, then the second, then the first. With everything cached,
// the loss of the first is no reason to fall back (gRFC A71).
func TestFallbackOnStartup(t *testing.T) {
	first, second := newTier(t, "first"), newTier(t, "second")
	first.serve()
	second.serve()
	first.down()
	second.down()
	cc := newFallbackChannel(t, first, second)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := call(ctx, cc, "/p.S/M", grpc.WaitForReady(true)); err == nil {
		t.Fatalf("%q answers although no control plane does", got)
	}
	second.up()
	until(t, cc, "second")
	first.up()
	until(t, cc, "first")
	second.left()
	accepted, _ := second.proxy.Connections()
	first.down()
	for range 10 {
		if got, err := call(soon(t), cc, "/p.S/M"); got != "first" {
			t.Errorf("%q, %v; want the cached configuration of the first server", got, err)
		}
	}
	second.unused(accepted)
}

// The first control plane fails after it has sent a Listener that refers to a cluster, and before
// the cluster.
func TestFallbackMidUpdate(t *testing.T) {
	first, second := newTier(t, "first"), newTier(t, "second")
	first.serve()
	second.serve()
	cc := newFallbackChannel(t, first, second)
	until(t, cc, "first")
	second.unused(0)
	cut := first.cutAt("cluster-later")
	first.routes("route-later", hosts("svc", to("cluster-later")))
	first.listener("svc", rds("route-later"))
	if err := <-cut; err != nil {
		t.Fatal(err)
	}
	until(t, cc, "second")
	first.plane.cluster("cluster-later", "endpoints-later", newBackend(t, "later"))
	first.up()
	until(t, cc, "later")
	second.left()
}

// The first control plane fails when the client subscribes to the first cluster.
func TestFallbackMidStartup(t *testing.T) {
	first, second := newTier(t, "first"), newTier(t, "second")
	first.routes(first.route(), hosts("svc", to(first.cluster())))
	first.listener("svc", rds(first.route()))
	second.serve()
	cut := first.cutAt(first.cluster())
	cc := newFallbackChannel(t, first, second)
	until(t, cc, "second")
	if err := <-cut; err != nil {
		t.Fatal(err)
	}
	first.serve()
	first.up()
	until(t, cc, "first")
	second.left()
}

// The first call succeeds without delay although the first control plane is unreachable.
func TestFallbackOnStartupCallsSucceed(t *testing.T) {
	first, second := newTier(t, "first"), newTier(t, "second")
	first.serve()
	second.serve()
	first.down()
	cc := newFallbackChannel(t, first, second)
	if got, err := call(soon(t), cc, "/p.S/M"); got != "second" {
		t.Fatalf("%q, %v; want second", got, err)
	}
	first.up()
	until(t, cc, "first")
	second.left()
}

// Of three control planes, only the last has all resources. The client then reverts to the second
// and to the first. Each time it closes its connections to the less preferred ones at once.
func TestFallbackThreeServers(t *testing.T) {
	first, second, third := newTier(t, "first"), newTier(t, "second"), newTier(t, "third")
	first.listener("svc", rds(first.route()))
	second.listener("svc", rds(second.route()))
	third.serve()
	cc := newFallbackChannel(t, first, second, third)
	cc.Connect()
	ctx := soon(t)
	connected := func(_, now int) bool { return now > 0 }
	if !first.proxy.Await(ctx, connected) {
		t.Fatal("nobody connects to the first server")
	}
	first.down()
	if !second.proxy.Await(ctx, connected) {
		t.Fatal("nobody connects to the second server")
	}
	second.down()
	until(t, cc, "third")
	second.serve()
	second.up()
	until(t, cc, "second")
	third.left()
	first.serve()
	first.up()
	until(t, cc, "first")
	second.left()
	third.left()
}
