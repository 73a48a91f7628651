package xdstest_test

import (
	"bytes"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/xdstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eds returns a valid cluster.
func eds(name string, limit uint32) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: new(corev3.SelfConfigSource)},
		}},
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(limit)}}},
	}
}

// invalid returns a cluster that clients reject.
func invalid(name string) *clusterv3.Cluster {
	c := eds(name, 1)
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	return c
}

// everywhere runs a test with both kinds of control planes and with clients of both variants.
func everywhere(t *testing.T, test func(t *testing.T, cp *xdstest.ControlPlane, c *xdsforge.Client)) {
	t.Helper()
	for variant := range variants {
		t.Run(variant, func(t *testing.T) { speaking(t, variant, test) })
	}
}

// variants are the server features that choose a variant of the protocol.
var variants = map[string]string{
	"state of the world": "",
	"delta":              `"server_features": ["` + feature.TransportDelta + `"], `,
}

// speaking runs a test with both kinds of control planes and with clients of one variant.
func speaking(t *testing.T, variant string, test func(t *testing.T, cp *xdstest.ControlPlane, c *xdsforge.Client)) {
	t.Helper()
	client := func(t *testing.T, cp *xdstest.ControlPlane) *xdsforge.Client {
		t.Helper()
		json := bytes.Replace(cp.BootstrapJSON(), []byte(`"server_uri"`), []byte(variants[variant]+`"server_uri"`), 1)
		config, err := bootstrap.Parse(json)
		if err != nil {
			t.Fatal(err)
		}
		return cp.Client(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register, endpoint.Register))
	}
	t.Run("loopback", func(t *testing.T) {
		cp := xdstest.Start(t, cluster.Type(), endpoint.Type())
		test(t, cp, client(t, cp))
	})
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cp := xdstest.InMemory(t, cluster.Type(), endpoint.Type())
			test(t, cp, client(t, cp))
		})
	})
}

// watch returns a function that waits for the next event of a cluster.
func watch(t *testing.T, c *xdsforge.Client, name string) func() cluster.Event {
	t.Helper()
	next, stop := iter.Pull(cluster.Watch(t.Context(), c, name))
	t.Cleanup(stop)
	return func() cluster.Event {
		t.Helper()
		ev, ok := next()
		if !ok {
			t.Fatal("the watch has ended")
		}
		return ev
	}
}

func wantLimit(t *testing.T, ev cluster.Event, want uint32) {
	t.Helper()
	if ev.Err != nil || ev.Ambient != nil || !ev.Changed || ev.Update.MaxRequests != want {
		t.Fatalf("event = %v; want a cluster with %d requests", ev, want)
	}
}

// TestNames gives resources other names than their messages have, in both variants.
func TestNames(t *testing.T) {
	everywhere(t, func(t *testing.T, cp *xdstest.ControlPlane, c *xdsforge.Client) {
		next := watch(t, c, "basket")
		cp.SetNamed("basket", eds("checkout", 3))
		wantLimit(t, next(), 3)
		if u, ok := cluster.Lookup(c, "basket"); !ok || u.Name().String() != "basket" {
			t.Errorf("the client has %v; want the cluster basket", u)
		}
	})
}

// TestResources follows a resource from its first version to its removal.
func TestResources(t *testing.T) {
	everywhere(t, func(t *testing.T, cp *xdstest.ControlPlane, c *xdsforge.Client) {
		cp.Set(eds("checkout", 1), eds("other", 1))
		next := watch(t, c, "checkout")
		wantLimit(t, next(), 1)
		cp.WantSubscribed(cluster.Type(), "checkout")
		cp.WantAccepted(cluster.Type())

		cp.SetNamed("checkout", eds("checkout", 2))
		cp.WantAccepted(cluster.Type())
		if u, ok := cluster.Lookup(c, "checkout"); !ok || u.MaxRequests != 2 {
			t.Fatalf("after WantAccepted, the client has %v", u)
		}
		wantLimit(t, next(), 2)

		cp.Set(invalid("checkout"))
		if got := cp.WantRejected(cluster.Type(), "checkout", "type = STATIC"); !strings.Contains(got, "type = STATIC") {
			t.Errorf("the rejection is %q", got)
		}
		if ev := next(); !errors.Is(ev.Ambient, xdsforge.ErrInvalid) {
			t.Fatalf("event = %v; want an invalid version", ev)
		}
		cp.Set(eds("checkout", 3))
		cp.WantAccepted(cluster.Type())
		wantLimit(t, next(), 3)

		cp.Delete(cluster.Type(), "checkout")
		cp.WantAccepted(cluster.Type())
		if ev := next(); !errors.Is(ev.Err, xdsforge.ErrRemoved) && !errors.Is(ev.Ambient, xdsforge.ErrRemoved) {
			t.Fatalf("event = %v; want the removal", ev)
		}
	})
}

// TestSetError expects clients to receive errors before and after the first response of a type, and
// their end.
func TestSetError(t *testing.T) {
	everywhere(t, func(t *testing.T, cp *xdstest.ControlPlane, c *xdsforge.Client) {
		cp.SetError(cluster.Type(), "secret", codes.PermissionDenied, "not for you")
		next := watch(t, c, "secret")
		if ev := next(); !errors.Is(ev.Err, xdsforge.ErrDenied) || !strings.Contains(ev.Err.Error(), "not for you") {
			t.Fatalf("event = %v; want the error of the control plane", ev)
		}
		cp.WantAccepted(cluster.Type())

		cp.Set(eds("checkout", 1))
		if u, err := cluster.Get(t.Context(), c, "checkout"); err != nil || u.MaxRequests != 1 {
			t.Fatalf("Get = %v, %v beside a resource with an error", u, err)
		}
		cp.SetError(cluster.Type(), "down", codes.Unavailable, "the database is down")
		for range 2 {
			if _, err := cluster.Get(t.Context(), c, "down"); !errors.Is(err, xdsforge.ErrUnavailable) {
				t.Fatalf("Get = %v; want that the resource is unavailable", err)
			}
		}
		cp.Set(eds("cart", 4))
		if u, err := cluster.Get(t.Context(), c, "cart"); err != nil || u.MaxRequests != 4 {
			t.Fatalf("Get = %v, %v after an error", u, err)
		}

		cp.Set(eds("secret", 5))
		wantLimit(t, next(), 5)
		cp.WantAccepted(cluster.Type())

		cp.SetError(cluster.Type(), "secret", codes.PermissionDenied, "no longer for you")
		if ev := next(); !errors.Is(ev.Err, xdsforge.ErrDenied) && !errors.Is(ev.Ambient, xdsforge.ErrDenied) {
			t.Fatalf("event = %v; want the error", ev)
		}
		cp.Set(eds("secret", 6))
		wantLimit(t, next(), 6)

		cp.SetError(endpoint.Type(), "late", codes.NotFound, "no endpoints")
		if _, err := endpoint.Get(t.Context(), c, "late"); !errors.Is(err, xdsforge.ErrNotFound) {
			t.Fatalf("Get = %v; want not found", err)
		}
		denied := make(chan struct{})
		go func() {
			for ev := range endpoint.Watch(t.Context(), c, "later") {
				if errors.Is(ev.Err, xdsforge.ErrDenied) { // the client may not know at first that it does not exist
					close(denied)
					return
				}
			}
		}()
		cp.WantSubscribed(endpoint.Type(), "later")
		cp.SetError(endpoint.Type(), "later", codes.PermissionDenied, "not for you")
		<-denied
	})
}

// TestErrorBecomesRemoval expects the end of an error without a resource to reach the client. A
// client keeps an error that a state-of-the-world response does not mention.
func TestErrorBecomesRemoval(t *testing.T) {
	speaking(t, "delta", func(t *testing.T, cp *xdstest.ControlPlane, c *xdsforge.Client) {
		cp.SetError(cluster.Type(), "checkout", codes.PermissionDenied, "not for you")
		next := watch(t, c, "checkout")
		if ev := next(); !errors.Is(ev.Err, xdsforge.ErrDenied) {
			t.Fatalf("event = %v; want the error", ev)
		}
		cp.Delete(cluster.Type(), "checkout")
		if ev := next(); !errors.Is(ev.Err, xdsforge.ErrNotFound) {
			t.Fatalf("event = %v; want not found", ev)
		}
	})
}

// TestDisconnect expects events for the outage and its end. The resource stays valid throughout.
func TestDisconnect(t *testing.T) {
	everywhere(t, func(t *testing.T, cp *xdstest.ControlPlane, c *xdsforge.Client) {
		cp.Set(eds("checkout", 1))
		next := watch(t, c, "checkout")
		wantLimit(t, next(), 1)
		cp.Disconnect(nil)
		if ev := next(); !errors.Is(ev.Ambient, xdsforge.ErrTransport) || ev.Update.MaxRequests != 1 {
			t.Fatalf("event = %v; want the outage", ev)
		}
		cp.Set(eds("checkout", 2))
		cp.Reconnect()
		cp.WantAccepted(cluster.Type())
		ev := next()
		if ev.Ambient == nil && ev.Update.MaxRequests == 1 {
			ev = next() // the outage ended before the update arrived
		}
		if ev.Ambient != nil || ev.Update.MaxRequests != 2 {
			t.Fatalf("event = %v; want the new version", ev)
		}
	})
}

// TestHold expects the control plane to hold back responses, including errors, and then to send
// them in order.
func TestHold(t *testing.T) {
	everywhere(t, func(t *testing.T, cp *xdstest.ControlPlane, c *xdsforge.Client) {
		cp.Set(eds("checkout", 1))
		next := watch(t, c, "checkout")
		wantLimit(t, next(), 1)
		cp.WantAccepted(cluster.Type())
		release := cp.Hold()
		cp.Set(eds("checkout", 2))
		cp.SetError(cluster.Type(), "secret", codes.PermissionDenied, "not for you")
		secret := watch(t, c, "secret")
		got := make(chan cluster.Event, 1)
		go func() { got <- secret() }()
		cp.WantSubscribed(cluster.Type(), "secret")
		select {
		case ev := <-got:
			t.Fatalf("event = %v while responses are held", ev)
		default:
		}
		if u, _ := cluster.Lookup(c, "checkout"); u.MaxRequests != 1 {
			t.Fatalf("the client has %v while responses are held", u)
		}
		release()
		release()
		wantLimit(t, next(), 2)
		if ev := <-got; !errors.Is(ev.Err, xdsforge.ErrDenied) {
			t.Fatalf("event = %v; want the error", ev)
		}
		cp.WantAccepted(cluster.Type())
	})
}

// TestEnv expects the clients of an Env to reach the control plane.
func TestEnv(t *testing.T) {
	cp := xdstest.Start(t, cluster.Type())
	cp.Set(eds("checkout", 1))
	c, err := cp.Env(xdsforge.WithTypes(cluster.Register)).NewClient()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := cluster.Get(t.Context(), c, "checkout"); err != nil {
		t.Fatal(err)
	}
}

// TestMisuse expects failures that say how to use the kit.
func TestMisuse(t *testing.T) {
	for want, misuse := range map[string]func(r *recorder){
		"needs at least one type":       func(r *recorder) { xdstest.InMemory(r) },
		"type 1 is nil":                 func(r *recorder) { xdstest.Start(r, nil) },
		"does not serve the type":       func(r *recorder) { xdstest.InMemory(r, cluster.Type()).Set(new(endpointv3.ClusterLoadAssignment)) },
		"the type is nil":               func(r *recorder) { xdstest.InMemory(r, cluster.Type()).Delete(nil, "checkout") },
		"no resource types":             func(r *recorder) { xdstest.InMemory(r, cluster.Type()).Client() },
		"give WithTypes":                func(r *recorder) { xdstest.InMemory(r, cluster.Type()).Env() },
		`does not serve the type "nil"`: func(r *recorder) { xdstest.InMemory(r, cluster.Type()).SetNamed("checkout", nil) },
	} {
		if got := failure(t, misuse); !strings.Contains(got, want) {
			t.Errorf("the test fails with %q; want %q", got, want)
		}
	}
}

// TestWantSaysWhatItSaw expects a Want call that fails to show the messages it saw.
func TestWantSaysWhatItSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := func(want string, call func(r *recorder, cp *xdstest.ControlPlane), prepare func(cp *xdstest.ControlPlane, c *xdsforge.Client)) {
			t.Helper()
			var cp *xdstest.ControlPlane
			got := failure(t, func(r *recorder) {
				cp = xdstest.InMemory(r, cluster.Type())
				c := cp.Client(xdsforge.WithTypes(cluster.Register))
				prepare(cp, c)
				call(r, cp)
			})
			if !strings.Contains(got, want) {
				t.Errorf("the test fails with %q; want %q", got, want)
			}
		}
		nothing := func(*xdstest.ControlPlane, *xdsforge.Client) {}
		load := func(cp *xdstest.ControlPlane, c *xdsforge.Client) {
			if _, err := cluster.Subscribe(c, "checkout", func(cluster.Event) {}); err != nil {
				t.Error(err)
			}
			cp.WantSubscribed(cluster.Type(), "checkout")
		}
		reject := func(cp *xdstest.ControlPlane, c *xdsforge.Client) {
			cp.Set(invalid("checkout"))
			load(cp, c)
			cp.WantRejected(cluster.Type())
		}
		held := func(cp *xdstest.ControlPlane, c *xdsforge.Client) {
			cp.Hold()
			cp.Set(eds("checkout", 1))
			load(cp, c)
		}
		subscribed := func(_ *recorder, cp *xdstest.ControlPlane) { cp.WantSubscribed(cluster.Type(), "cart") }
		accepted := func(_ *recorder, cp *xdstest.ControlPlane) { cp.WantAccepted(cluster.Type()) }
		rejected := func(_ *recorder, cp *xdstest.ControlPlane) { cp.WantRejected(cluster.Type(), "lb_policy") }
		fail(`no client subscribes to the Cluster "cart" after 10s; 0 open streams`, subscribed, nothing)
		fail(`1 open streams subscribe to ["checkout"]`, subscribed, load)
		fail("none of 0 open streams subscribes to the type", accepted, nothing)
		fail(`stream 1, which subscribes to ["checkout"], has not received the newest resources`, accepted, held)
		fail("rejected the last response: ", accepted, reject)
		fail("no client has rejected a Cluster after 10s; 0 open streams", rejected, nothing)
		fail("the rejections are:\n", rejected, reject)
	})
}
