package grpcxds_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// byDefault sets the environment variables that name a bootstrap.
func byDefault(t *testing.T, config string) {
	t.Helper()
	t.Setenv(bootstrap.EnvFile, "")
	t.Setenv(bootstrap.EnvContent, config)
}

// targets returns n targets that lead to a backend.
func (p *plane) targets(n int, b *backend) []string {
	p.Helper()
	p.cluster("c", "c", b)
	var targets []string
	for i := range n {
		name := fmt.Sprintf("svc%d", i)
		p.listener(name, fmt.Sprintf(`route_config { %s }`, hosts(name, to("c"))))
		targets = append(targets, "xds:///"+name)
	}
	return targets
}

// TestDefaultChannelsShareAConnection expects five default channels to share an Env and a
// connection, with one stream for each target (A47, A71).
func TestDefaultChannelsShareAConnection(t *testing.T) {
	p := newPlane(t)
	targets := p.targets(5, newBackend(t, "b"))
	byDefault(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()))
	for _, target := range append(targets, targets[0]) {
		until(t, dialWith(t, grpcxds.Dialer{}, target), "b")
	}
	if conns, streams := p.Connections(), p.Streams(); conns != 1 || streams != 5 {
		t.Errorf("%d connections, %d streams; want 1 and 5", conns, streams)
	}
	envs := xdsforge.Envs()
	if len(envs) != 1 {
		t.Fatalf("%d Envs; want 1", len(envs))
	}
	snapshots, err := envs[0].Snapshots(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	var scopes []string
	for _, s := range snapshots {
		scopes = append(scopes, s.Scope)
	}
	if !slices.Equal(scopes, targets) {
		t.Errorf("scopes %q; want %q", scopes, targets)
	}
}

// TestServersShareTheDefaultEnv expects a default channel and a default server to share an Env, but
// not a client (A71).
func TestServersShareTheDefaultEnv(t *testing.T) {
	p := newPlane(t)
	targets := p.targets(1, newBackend(t, "b"))
	byDefault(t, fmt.Sprintf(`{"xds_servers": [%s], "server_listener_resource_name_template": "server/%%s"}`, p.entry()))
	until(t, dialWith(t, grpcxds.Dialer{}, targets[0]), "b")
	s, err := grpcxds.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	envs := xdsforge.Envs()
	if len(envs) != 1 {
		t.Fatalf("%d Envs; want 1", len(envs))
	}
	snapshots, err := envs[0].Snapshots(soon(t))
	if err != nil || len(snapshots) != 2 || snapshots[0].Scope != "#server" || snapshots[1].Scope != targets[0] {
		t.Errorf("Snapshots: %+v, %v; want those of the servers and of the target", snapshots, err)
	}
}

// TestOtherBootstrapOtherEnv expects an Env for each content of the bootstrap, whatever its layout.
func TestOtherBootstrapOtherEnv(t *testing.T) {
	p := newPlane(t)
	targets := p.targets(3, newBackend(t, "b"))
	for i, c := range []struct {
		config string
		envs   int
	}{
		{`{"xds_servers": [%s], "node": {"id": "n"}}`, 1},
		{`{"node": {"id": "n"},    "xds_servers": [%s]}`, 1},
		{`{"node": {"id": "other"}, "xds_servers": [%s]}`, 2},
	} {
		byDefault(t, fmt.Sprintf(c.config, p.entry()))
		until(t, dialWith(t, grpcxds.Dialer{}, targets[i]), "b")
		if n := len(xdsforge.Envs()); n != c.envs {
			t.Errorf("%d Envs after bootstrap %d; want %d", n, i, c.envs)
		}
	}
	if conns := p.Connections(); conns != 1 {
		t.Errorf("%d connections; Envs must share one for equal server entries", conns)
	}
}

// TestCloseInAnyOrder expects an Env to work until its last user closes.
func TestCloseInAnyOrder(t *testing.T) {
	p := newPlane(t)
	target := p.targets(1, newBackend(t, "b"))[0]
	config := fmt.Sprintf(`{"xds_servers": [%s], "server_listener_resource_name_template": "server/%%s"}`, p.entry())
	for _, order := range [][]int{{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {1, 0, 2, 3}, {1, 2, 3, 0}, {2, 3, 1, 0}, {3, 2, 1, 0}, {3, 0, 1, 2}} {
		env := newEnv(t, config)
		cc := newChannel(t, env, target)
		until(t, cc, "b")
		s, err := grpcxds.ServerConfig{Env: env}.NewServer()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		c, err := env.NewClient()
		if err != nil {
			t.Fatal(err)
		}
		open := true // the channel
		for i, what := range order {
			if n := len(xdsforge.Envs()); n != 1 {
				t.Errorf("%v: %d Envs before end %d; want 1", order, n, i)
			}
			if open {
				until(t, cc, "b")
			}
			switch what {
			case 0:
				_ = env.Close()
			case 1:
				open = false
				_ = cc.Close()
			case 2:
				s.Stop()
				if err := <-served; err != nil && err != grpc.ErrServerStopped { //nolint:errorlint // the program may call Stop before Serve
					t.Errorf("%v: Serve: %v", order, err)
				}
			case 3:
				_ = c.Close()
			}
		}
		if n := len(xdsforge.Envs()); n != 0 {
			t.Errorf("%v: %d Envs in the end; want none", order, n)
		}
	}
}

// TestIdleChannelsHoldNoEnv expects an idle channel to release its Env, and to open it again for
// the next call. The program may have closed the Env in between.
func TestIdleChannelsHoldNoEnv(t *testing.T) {
	p := newPlane(t)
	target := p.targets(1, newBackend(t, "b"))[0]
	config := fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry())
	byDefault(t, config)
	given := newEnv(t, config)
	briefly := grpc.WithIdleTimeout(20 * time.Millisecond)
	channels := []*grpc.ClientConn{dialWith(t, grpcxds.Dialer{}, target, briefly), dialWith(t, grpcxds.Dialer{Env: given}, target, briefly)}
	_ = given.Close()
	byDefault(t, `{}`) // the default channel keeps its bootstrap
	for range 3 {
		for _, cc := range channels {
			until(t, cc, "b")
			ctx, end := context.WithCancel(soon(t))
			if _, err := cc.NewStream(ctx, new(grpc.StreamDesc), "/p.S/M"); err != nil { // a channel with a call is not idle
				t.Fatal(err)
			}
			if n := len(xdsforge.Envs()); n == 0 {
				t.Error("no Env is in use by a channel")
			}
			end()
			idle(t, cc)
		}
		eventuallyNoEnv(t)
	}
}

// eventuallyNoEnv waits until the resolvers of idle channels are closed.
func eventuallyNoEnv(t *testing.T) {
	t.Helper()
	ctx := soon(t)
	for ticks := time.NewTicker(time.Millisecond); ; <-ticks.C {
		if len(xdsforge.Envs()) == 0 {
			ticks.Stop()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("idle channels hold %d Envs", len(xdsforge.Envs()))
		}
	}
}

// TestNewChannelsOfAClosedEnv expects a closed Env to create no more channels.
func TestNewChannelsOfAClosedEnv(t *testing.T) {
	p := newPlane(t)
	target := p.targets(1, newBackend(t, "b"))[0]
	env := newEnv(t, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry()))
	cc := newChannel(t, env, target)
	until(t, cc, "b")
	_ = env.Close()
	until(t, cc, "b")
	if _, err := (grpcxds.Dialer{Env: env}).NewClient(target, grpcxds.WithCredentials(insecure.NewCredentials())); err == nil {
		t.Error("NewClient accepted a closed Env")
	}
	until(t, cc, "b")
}

// TestCircuitBreakersOfAnEnv expects the calls of all channels of an Env to share a cluster's limit
// (A32). Calls of another Env do not count.
func TestCircuitBreakersOfAnEnv(t *testing.T) {
	p := newPlane(t)
	targets := p.targets(2, newBackend(t, "b"))
	p.set("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } service_name: "c" }
		circuit_breakers { thresholds { max_requests { value: 1 } } }`)
	config := fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry())
	byDefault(t, config)
	one, two := dialWith(t, grpcxds.Dialer{}, targets[0]), dialWith(t, grpcxds.Dialer{}, targets[1])
	apart := newChannel(t, newEnv(t, config), targets[1])
	until(t, one, "b")
	until(t, two, "b")
	stream, err := one.NewStream(soon(t), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(wrapperspb.String("?")); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); err != nil {
		t.Fatal(err)
	}
	if _, err := call(soon(t), two, "/p.S/M"); status.Code(err) != codes.Unavailable {
		t.Errorf("a call of another channel beyond the limit: %v; want Unavailable", err)
	}
	until(t, apart, "b")
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); err != io.EOF { //nolint:errorlint // as gRPC returns it
		t.Errorf("the stream ends with %v", err)
	}
	until(t, two, "b")
}

// TestTargetsOfOtherSchemes expects NewClient to equal grpc.NewClient for other schemes, without a
// bootstrap.
func TestTargetsOfOtherSchemes(t *testing.T) {
	byDefault(t, "")
	b := newBackend(t, "b")
	for _, target := range []string{"passthrough:///127.0.0.1:%d", "127.0.0.1:%d", "dns:127.0.0.1:%d"} {
		until(t, dialWith(t, grpcxds.Dialer{}, fmt.Sprintf(target, b.port)), "b")
	}
	if n := len(xdsforge.Envs()); n > 0 {
		t.Errorf("%d Envs", n)
	}
	if _, err := grpcxds.NewClient("127.0.0.1:1"); err == nil {
		t.Error("no credentials were given, and grpc.NewClient's error is missing")
	}
}
