package grpcxds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds"
)

// idle waits until a channel is idle.
func idle(t *testing.T, cc *grpc.ClientConn) {
	t.Helper()
	ctx := soon(t)
	for s := cc.GetState(); s != connectivity.Idle; s = cc.GetState() {
		if !cc.WaitForStateChange(ctx, s) {
			t.Fatal("the channel is never idle")
		}
	}
}

// A channel repeatedly becomes idle, and calls after that succeed.
func TestIdleness(t *testing.T) {
	p, b := newPlane(t), newBackend(t, "b")
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", to("c")))
	p.cluster("c", "c", b)
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry())), "xds:///svc", grpc.WithIdleTimeout(20*time.Millisecond))
	for i := range 5 {
		if i%2 == 1 {
			idle(t, cc)
		}
		if got, err := call(soon(t), cc, "/p.S/M"); got != "b" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	// The channel repeatedly becomes idle under many calls. No call may be lost.
	for i := range 300 {
		if got, err := call(soon(t), cc, "/p.S/M"); got != "b" {
			t.Fatalf("%q, %v", got, err)
		}
		if i%8 == 0 {
			cc.WaitForStateChange(soon(t), connectivity.Ready) // the next call arrives at that moment
		}
	}
}

// An error names the target, the resource, the server and the node once. Its code is never that of
// a control plane (A54).
func TestErrors(t *testing.T) {
	p := newPlane(t)
	where := func(node string) string {
		return fmt.Sprintf(" [server %s, node %s]", p.Addr(), node)
	}
	p.cluster("c", "c", newBackend(t, "b"))
	p.listener("rejected", `route_config { virtual_hosts { domains: "rejected" routes { } } }`)
	p.listener("host", fmt.Sprintf(`route_config { %s }`, hosts("other", to("c"))))
	p.listener("route", fmt.Sprintf(`route_config { %s }`, hosts("route", `routes { match { path: "/x" } route { cluster: "c" } }`)))
	p.listener("cluster", fmt.Sprintf(`route_config { %s }`, hosts("cluster", to("bad"))))
	p.set("bad", new(clusterv3.Cluster), `name: "bad" type: EDS eds_cluster_config { eds_config { ads {} } } lb_policy: MAGLEV`)
	p.listener("servers", fmt.Sprintf(`route_config { %s }`, hosts("servers", to("closed"))))
	p.cluster("closed", "closed", &backend{port: 1})
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"xds_servers": [%s], "node": {"id": "n"}}`, p.entry())), "xds:///host")
	if _, err := call(soon(t), cc, "/p.S/M"); status.Convert(err).Message() != `grpcxds: target "xds:///host", authority "host": Listener "host": invalid: virtual_hosts: none is for the authority "host"`+where("n") &&
		status.Convert(err).Message() != `grpcxds: target "xds:///host", authority "host": RouteConfiguration "host": invalid: virtual_hosts: none is for the authority "host"`+where("n") {
		t.Errorf("no virtual host: %v", err)
	}
	server := "server " + p.Addr()
	for target, want := range map[string][]string{
		"rejected": {`Listener "rejected": invalid: `, server, "node n"},
		"route":    {`RouteConfiguration "route": cannot route the call: no route of virtual host "h" takes /p.S/M`, server, "node n"},
		"cluster":  {`Cluster "bad": invalid: lb_policy = MAGLEV`, server, "node n"},
		"servers":  {`cluster "closed"`, "connection refused", "xDS node ID: n"},
	} {
		cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"xds_servers": [%s], "node": {"id": "n"}}`, p.entry())), "xds:///"+target)
		_, err := call(soon(t), cc, "/p.S/M")
		if status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v; want UNAVAILABLE", target, err)
		}
		want = append(want, fmt.Sprintf(`target "xds:///%s", authority %q`, target, target))
		for _, part := range want {
			if n := strings.Count(err.Error(), part); n != 1 {
				t.Errorf("%s: %v; want %q once, not %d times", target, err, part, n)
			}
		}
	}
}

// Weighted clusters change under calls. Every call reaches an existing cluster.
func TestFlips(t *testing.T) {
	p := newPlane(t)
	one, two := newBackend(t, "one"), newBackend(t, "two")
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", to("one")))
	p.cluster("one", "one", one)
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry())), "xds:///svc")
	until(t, cc, "one")
	s, err := cc.NewStream(soon(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	talk := func() string {
		m := wrapperspb.String("?")
		if err := s.SendMsg(m); err != nil {
			return err.Error()
		}
		if err := s.RecvMsg(m); err != nil {
			return err.Error()
		}
		return m.GetValue()
	}
	stop, failures := make(chan struct{}), make(chan error, 4)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					failures <- nil
					return
				default:
				}
				if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	p.cluster("two", "two", two)
	for i := range 20 {
		name := []string{"two", "one"}[i%2]
		p.routes("r", hosts("svc", to(name)))
		until(t, cc, name)
		if got := talk(); got != "one" {
			t.Fatalf("the stream that began with one: %s", got)
		}
	}
	close(stop)
	for range 4 {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// After the loss of the control plane, its last resources stay in use, and new channels report the
// error.
func TestControlPlaneIsLost(t *testing.T) {
	p, b := newPlane(t), newBackend(t, "b")
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("svc", to("c"))))
	p.cluster("c", "c", b)
	env := newEnv(t, fmt.Sprintf(`{"xds_servers": [%s], "node": {"id": "n"}}`, p.entry()))
	cc := newChannel(t, env, "xds:///svc")
	until(t, cc, "b")
	p.Stop()
	if got, err := call(soon(t), cc, "/p.S/M"); got != "b" {
		t.Errorf("%q, %v", got, err)
	}
	other := newChannel(t, env, "xds:///other")
	_, err := call(soon(t), other, "/p.S/M")
	for _, part := range []string{`target "xds:///other"`, `Listener "other": `, "control plane unreachable", "server " + p.Addr(), "node n"} {
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), part) {
			t.Errorf("%v; want %q", err, part)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := call(ctx, other, "/p.S/M", grpc.WaitForReady(true)); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "control plane unreachable") {
		t.Errorf("a call that waits: %v", err)
	}
}

// Calls follow an 80/20 split, and a route by a header.
func TestRouting(t *testing.T) {
	p := newPlane(t)
	a, b, c := newBackend(t, "a"), newBackend(t, "b"), newBackend(t, "c")
	p.listener("svc", rds("r"))
	p.cluster("xdstp://x/envoy.config.cluster.v3.Cluster/a?z=1&b=2", "xdstp://x/envoy.config.endpoint.v3.ClusterLoadAssignment/a", a)
	p.cluster("xdstp://x/envoy.config.cluster.v3.Cluster/a?b=2&z=1", "xdstp://x/envoy.config.endpoint.v3.ClusterLoadAssignment/a", a)
	p.cluster("b", "b", b)
	p.cluster("c", "c", c)
	p.routes("r", hosts("svc", `
		routes { match { prefix: "" headers { name: "to" string_match { exact: "c" } } } route { cluster: "c" } }
		routes { match { prefix: "" } route { weighted_clusters {
			clusters { name: "xdstp://x/envoy.config.cluster.v3.Cluster/a?z=1&b=2" weight { value: 80 } } clusters { name: "b" weight { value: 20 } } } } }`))
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"authorities": {"x": {}}, "xds_servers": [%s]}`, p.entry())), "xds:///svc")
	if got, err := call(metadata.AppendToOutgoingContext(soon(t), "to", "c"), cc, "/p.S/M"); got != "c" {
		t.Errorf("%q, %v", got, err)
	}
	const n = 1000
	counts := make(map[string]int)
	for range n {
		got, err := call(soon(t), cc, "/p.S/M")
		if err != nil {
			t.Fatal(err)
		}
		counts[got]++
	}
	if counts["a"] < 736 || counts["a"] > 864 || counts["a"]+counts["b"] != n { // five standard deviations
		t.Errorf("the calls went to %v; want 80 to 20", counts)
	}
}

// A channel that uses only the registered resolver routes its calls, too. It retries calls as the
// control plane configures, unless the program disables that (A44).
func TestRetriesOfChannels(t *testing.T) {
	var attempts atomic.Int64
	b := newBackend(t, "b", grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if attempts.Add(1) < 3 {
			return status.Error(codes.Unavailable, "not now")
		}
		return next(srv, s)
	}))
	p := newPlane(t)
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("svc", `retry_policy { retry_on: "unavailable" num_retries { value: 2 } } `+to("c"))))
	p.cluster("c", "c", b)
	env := newEnv(t, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry()))
	if got, err := call(soon(t), newChannel(t, env, "xds:///svc"), "/p.S/M"); got != "b" || attempts.Load() != 3 {
		t.Errorf("%q, %v after %d attempts", got, err, attempts.Load())
	}
	attempts.Store(0)
	if _, err := call(soon(t), dialWith(t, grpcxds.Dialer{Env: env, DisableRetries: true}, "xds:///svc"), "/p.S/M"); status.Code(err) != codes.Unavailable || attempts.Load() != 1 {
		t.Errorf("%v after %d attempts; want one", err, attempts.Load())
	}
}
