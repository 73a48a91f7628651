package grpcxds

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A control plane receives requests and does not respond. If a call's deadline is before the 15 s
// are over, its error names the resource that the call waited for, with target, server and node.
func TestSilentControlPlane(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		c := w.dialXDS("xds:///svc")
		w.plane.Silence(transport.MethodADS, true)
		w.plane.Silence(transport.MethodDeltaADS, true)
		want := []string{`target "xds:///svc"`, `authority "svc"`, `Listener "svc": no answer yet`, "server memory", "node n", "waiting for the configuration"}
		w.expect("the first call", w.call(c, time.Second), codes.DeadlineExceeded, want...)
	})
	for _, c := range []struct {
		missing string
		want    string
	}{
		{"routes", `RouteConfiguration "r": no answer yet [server memory, node n]`},
		{"cluster", `Cluster "c": no answer yet [server memory, node n]`},
		{"endpoints", `ClusterLoadAssignment "c": no answer yet [server memory, node n]`},
	} {
		t.Run(c.missing, func(t *testing.T) {
			inMemory(t, func(w *memoryWorld) {
				w.backend("10.0.0.1:80")
				w.apiListener("svc", rds("r"))
				if c.missing != "routes" {
					w.routes("r", `virtual_hosts { domains: "svc" routes { match { prefix: "" } route { cluster: "c" } } }`)
				}
				if c.missing == "endpoints" {
					w.cluster("c", "10.0.0.1", 80)
					w.plane.Delete(endpoint.Type().URL(), "c")
				}
				cc := w.dialXDS("xds:///svc")
				w.expect("the first call", w.call(cc, time.Second), codes.DeadlineExceeded, `target "xds:///svc", authority "svc"`, c.want)
			})
		})
	}
}

// A server without a Listener for 15 s reports this. It serves when the Listener arrives (A36,
// A57).
func TestFifteenSecondsWithoutAListener(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		events := w.serve("10.0.0.1:80").events
		w.pass(14900 * time.Millisecond)
		if len(events) > 0 {
			w.Errorf("after 14.9 s: %v", <-events)
		}
		w.pass(200 * time.Millisecond)
		if len(events) != 1 {
			w.Fatalf("after 15.1 s: %d events; want 1", len(events))
		}
		e := <-events
		if want := `Listener "server/10.0.0.1:80": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]`; e.mode != NotServing || e.err == nil || e.err.Error() != want {
			w.Errorf("%v: %v; want not serving, %s", e.mode, e.err, want)
		}
		w.publish(anyChain(inline(anyRoute)))
		w.pass(time.Second)
		if len(events) != 1 || (<-events).mode != Serving {
			w.Error("it does not serve with a Listener")
		}
		w.expect("a call", w.call(w.dial("passthrough:///10.0.0.1:80"), time.Second), codes.OK)
	})
}

// Calls of a channel wait 15 s for the Listener. After that they fail until it arrives.
func TestFifteenSecondsOfAChannelWithoutAListener(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		w.backend("10.0.0.1:80")
		c, start := w.dialXDS("xds:///svc"), time.Now()
		w.expect("the first call", w.call(c, time.Minute), codes.Unavailable, `target "xds:///svc"`, `Listener "svc": does not exist`, "[server memory, node n]")
		if d := time.Since(start); d < 15*time.Second || d > 16*time.Second {
			w.Errorf("the first call failed after %v; want 15 s", d)
		}
		start = time.Now()
		w.expect("the next call", w.call(c, time.Minute), codes.Unavailable, `does not exist`)
		if d := time.Since(start); d > time.Second {
			w.Errorf("the next call failed after %v; want at once", d)
		}
		w.cluster("c", "10.0.0.1", 80)
		w.apiListener("svc", `route_config { virtual_hosts { domains: "svc" routes { match { prefix: "" } route { cluster: "c" } } } }`)
		w.pass(time.Second)
		w.expect("a call with a Listener", w.call(c, time.Second), codes.OK)
	})
}

// If a control plane is unreachable, a server does not serve. It reports the reason at once, and
// not again after 15 s. Calls of a channel fail at once. Both recover.
func TestUnreachableControlPlane(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		w.plane.Refuse(errors.New("no route to host"))
		events := w.serve("10.0.0.1:80").events
		w.pass(time.Second)
		if len(events) != 1 {
			w.Fatalf("%d events in the first second; want 1", len(events))
		}
		if e := <-events; e.mode != NotServing || e.err == nil || e.err.Error() != `Listener "server/10.0.0.1:80": control plane unreachable: no route to host [server memory, node n]` {
			w.Errorf("%v: %v; want that the control plane is unreachable", e.mode, e.err)
		}
		c, start := w.dialXDS("xds:///svc"), time.Now()
		w.expect("a call", w.call(c, time.Minute), codes.Unavailable, `target "xds:///svc"`, "control plane unreachable", "server memory", "node n")
		if d := time.Since(start); d > time.Second {
			w.Errorf("the call failed after %v; want at once", d)
		}
		w.pass(time.Minute)
		for len(events) > 0 {
			w.Errorf("after a minute without a control plane: %v", (<-events).err)
		}
		w.publish(anyChain(inline(anyRoute)))
		w.cluster("c", "10.0.0.1", 80)
		w.apiListener("svc", `route_config { virtual_hosts { domains: "svc" routes { match { prefix: "" } route { cluster: "c" } } } }`)
		w.plane.Refuse(nil)
		w.pass(3 * time.Minute) // the back-off is up to 2 minutes
		if len(events) != 1 || (<-events).mode != Serving {
			w.Error("it does not serve with a Listener")
		}
		w.expect("a call", w.call(c, time.Second), codes.OK)
	})
}

// A missing RouteConfiguration delays a server and a channel by 15 s. Then the server serves and
// fails the calls. So does the channel.
func TestFifteenSecondsWithoutRoutes(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		w.publish(anyChain(rds("missing")))
		events := w.serve("10.0.0.1:80").events
		w.pass(14900 * time.Millisecond)
		if len(events) > 0 {
			w.Errorf("after 14.9 s: %v", <-events)
		}
		w.pass(time.Second)
		if len(events) != 1 {
			w.Fatalf("after 15.9 s: %d events; want 1", len(events))
		}
		if e := <-events; e.mode != Serving {
			w.Errorf("%v: %v; want serving", e.mode, e.err)
		}
		c := w.dial("passthrough:///10.0.0.1:80")
		w.expect("a call of the server", w.call(c, time.Second), codes.Unavailable, `RouteConfiguration "missing": does not exist`)
		w.routes("missing", allHosts)
		w.pass(time.Second)
		w.expect("a call with routes", w.call(c, time.Second), codes.OK)
		if len(events) > 0 {
			w.Error("news of its mode; it served all the time")
		}
	})
	inMemory(t, func(w *memoryWorld) {
		w.apiListener("svc", rds("missing"))
		c, start := w.dialXDS("xds:///svc"), time.Now()
		w.expect("a call of the channel", w.call(c, time.Minute), codes.Unavailable, `target "xds:///svc"`, `RouteConfiguration "missing": does not exist`, "[server memory, node n]")
		if d := time.Since(start); d < 15*time.Second || d > 16*time.Second {
			w.Errorf("the call failed after %v; want 15 s", d)
		}
	})
}

// The control plane of a RouteConfiguration is unreachable, that of the Listener is not. The server
// serves at once and fails the calls, and so does the channel (A36).
func TestUnreachableRoutes(t *testing.T) {
	const name = "xdstp://nobody/envoy.config.route.v3.RouteConfiguration/r"
	inMemory(t, func(w *memoryWorld) {
		w.publish(anyChain(rds(name)))
		events := w.serve("10.0.0.1:80").events
		w.pass(time.Second)
		if len(events) != 1 || (<-events).mode != Serving {
			w.Fatal("it does not serve")
		}
		w.expect("a call of the server", w.call(w.dial("passthrough:///10.0.0.1:80"), time.Second), codes.Unavailable,
			fmt.Sprintf("RouteConfiguration %q: control plane unreachable", name))
		w.apiListener("svc", rds(name))
		w.expect("a call of the channel", w.call(w.dialXDS("xds:///svc"), time.Second), codes.Unavailable,
			fmt.Sprintf("RouteConfiguration %q: control plane unreachable", name), "[server nowhere, node n]")
		w.pass(time.Minute)
		if len(events) > 0 {
			w.Errorf("after a minute: %v", <-events)
		}
	})
}

// One of several RouteConfigurations never arrives. The server waits 15 s for it, then serves. The
// calls of its filter chains fail, others succeed. The previous Listener serves all the while.
func TestOneOfSeveralRouteConfigurationsIsMissing(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		chain := func(port int, routes string) string {
			return fmt.Sprintf(`filter_chains { name: "%[1]d" filter_chain_match { source_ports: %[1]d } %s } `, port, network(rds(routes)))
		}
		w.routes("there", allHosts)
		w.routes("also there", allHosts)
		w.publish(chain(1, "there"), chain(2, "missing"), chain(3, "also there"))
		events := w.serve("10.0.0.1:80").events
		w.pass(14900 * time.Millisecond)
		if len(events) > 0 {
			w.Errorf("after 14.9 s: %v", <-events)
		}
		w.pass(time.Second)
		if len(events) != 1 || (<-events).mode != Serving {
			w.Fatal("it does not serve after 15 s")
		}
		from := func(port int) { w.sockets["10.0.0.1:80"].from = port }
		try := func(when string, port int, code codes.Code, parts ...string) {
			w.Helper()
			from(port)
			w.expect(fmt.Sprintf("%s, a call of chain %d", when, port), w.call(w.dial("passthrough:///10.0.0.1:80"), time.Second), code, parts...)
		}
		try("at first", 1, codes.OK)
		try("at first", 2, codes.Unavailable, `RouteConfiguration "missing": does not exist`)
		try("at first", 3, codes.OK)
		w.publish(chain(1, "there"), chain(2, "never"), chain(4, "also there"))
		w.pass(14 * time.Second)
		try("14 s after the next Listener", 1, codes.OK)
		try("14 s after the next Listener", 3, codes.OK)
		w.pass(2 * time.Second)
		try("with the next Listener", 1, codes.OK)
		try("with the next Listener", 2, codes.Unavailable, `RouteConfiguration "never": does not exist`)
		try("with the next Listener", 3, codes.Unavailable) // no chain
		try("with the next Listener", 4, codes.OK)
	})
}
