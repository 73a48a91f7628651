package grpcxds

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// target returns the description of the only channel.
func (w *memoryWorld) target() dataplane.Target {
	w.Helper()
	synctest.Wait()
	targets, err := w.env.Targets(w.Context())
	if err != nil || len(targets) != 1 {
		w.Fatalf("Targets = %v, %v; want one target", targets, err)
	}
	return targets[0]
}

// An Env lists its channels, with the reason of the state of each.
func TestTargetsOfAnEnv(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		if targets, err := w.env.Targets(w.Context()); err != nil || len(targets) != 0 {
			t.Errorf("Targets without channels = %v, %v", targets, err)
		}
		w.backend("10.0.0.2:80")
		w.cluster("c", "10.0.0.2", 80)
		cc := w.channelXDS("xds:///web")
		cc.Connect()
		if d := w.target(); d.State != "" || !strings.Contains(d.Pending, `Listener "web"`) || d.Target != "xds:///web" || d.Authority != "web" {
			t.Errorf("before a configuration: %+v; want one that waits for the Listener", d)
		}
		w.apiListener("web", `rds { config_source { ads {} } route_config_name: "r" }`)
		w.routes("r", `virtual_hosts { name: "h" domains: "*" routes { match { prefix: "" } route { cluster: "c" } } }`)
		if st := w.call(testpb.NewTestServiceClient(cc), time.Minute); st.Err() != nil {
			t.Fatal(st)
		}
		d := w.target()
		if want := `target "xds:///web": READY, 1 clusters, listener "web", routes "r", virtual host "h"`; d.String() != want {
			t.Errorf("with a configuration: %v; want %v", d, want)
		}
		if !d.Updated.Equal(time.Now()) || !d.Taken.Equal(time.Now()) || len(d.Clusters) != 1 || len(d.Clusters[0].Leaves) != 1 {
			t.Fatalf("with a configuration: %+v; want one of now with a cluster", d)
		}
		if e := d.Clusters[0].Leaves[0].Priorities[0].Localities[0].Endpoints; len(e) != 1 || e[0].State != "READY" || e[0].Calls != 0 {
			t.Errorf("endpoints = %v; want one that is READY without calls", e)
		}
		w.routes("r", `virtual_hosts { name: "h" domains: "other.example" }`)
		w.pass(time.Second)
		if d = w.target(); !d.Failing || !strings.Contains(d.Err, "virtual_hosts: none is for the authority") || !d.Updated.IsZero() || d.Routes != "" {
			t.Errorf("without a virtual host: %+v; want an error", d)
		}
		w.routes("r", `virtual_hosts { name: "h" domains: "*" routes { match { prefix: "" } route { cluster: "c" } } }`)
		w.pass(time.Second)
		if d = w.target(); d.Failing || d.Err == "" || d.ErrAt.IsZero() || d.Routes != "r" {
			t.Errorf("with a virtual host again: %+v; want the last error, which is over", d)
		}
		_ = cc.Close()
		if targets, err := w.env.Targets(w.Context()); err != nil || len(targets) != 0 {
			t.Errorf("Targets after Close = %v, %v", targets, err)
		}
	})
}

// Targets returns the error of its context.
func TestTargetsEnd(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		w.backend("10.0.0.2:80")
		w.cluster("c", "10.0.0.2", 80)
		w.apiListener("web", `route_config { name: "r" virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "c" } } } }`)
		w.channelXDS("xds:///web").Connect()
		synctest.Wait()
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		for range 100 { // the tree may answer first
			if _, err := w.env.Targets(ctx); errors.Is(err, context.Canceled) && strings.HasPrefix(err.Error(), `xdsforge: target "xds:///web": `) {
				return
			}
		}
		t.Error("Targets never returns the error of its context")
	})
}

// holding is an option of a server whose calls wait.
func holding(until <-chan struct{}) grpc.ServerOption {
	return grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		<-until
		return handler(ctx, req)
	})
}

// A server describes its modes, generations and connections.
func TestServersOfAnEnv(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		held := make(chan struct{})
		s := w.serve("10.0.0.1:80", holding(held))
		synctest.Wait()
		port := func() dataplane.Port {
			synctest.Wait()
			servers := w.env.Servers()
			if len(servers) != 1 || len(servers[0].Ports) != 1 {
				t.Fatalf("Servers = %v; want one with a port", servers)
			}
			return servers[0].Ports[0]
		}
		start := time.Now().Format(time.RFC3339)
		if p := port(); p.String() != `port 10.0.0.1:80: STARTING since `+start+`, listener "server/10.0.0.1:80", 0 generations` {
			t.Errorf("the port is %v", p)
		}
		w.publish(`filter_chains { name: "any" ` + network(inline(anyRoute)) + ` }`)
		<-s.events
		c := w.dial("passthrough:///10.0.0.1:80")
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.call(c, time.Hour)
		}()
		first := port()
		if first.Mode != dataplane.Serving || len(first.Generations) != 1 ||
			first.Generations[0].String() != `generation of version "1": current, 1 filter chains, 1 connections, 0 in handshakes` {
			t.Errorf("with a connection: %v, %v", first, first.Generations)
		}
		w.pass(time.Minute)
		w.publish(`default_filter_chain { name: "last" ` + network(inline(anyRoute)) + ` }`)
		w.pass(time.Minute)
		got := port()
		want := []string{
			`generation of version "2": current, 1 filter chains, 0 connections, 0 in handshakes`,
			`generation of version "1": draining for 1m0s, 1 filter chains, 1 connections, 0 in handshakes`,
		}
		if len(got.Generations) != 2 || got.Generations[0].String() != want[0] || got.Generations[1].String() != want[1] {
			t.Errorf("the generations are %v; want %v", got.Generations, want)
		} else if c := got.Generations[0].FilterChains[0].String(); c != `filter chain "last" (default): 0 connections, routes "server/10.0.0.1:80"` {
			t.Errorf("the filter chain is %v", c)
		}
		close(held)
		<-done
		if p := port(); len(p.Generations) != 1 {
			t.Errorf("after the last call: %v; want only the current generation", p.Generations)
		}
		cc := w.channel("passthrough:///10.0.0.1:80")
		for _, want := range []int64{1, 0} {
			w.call(testpb.NewTestServiceClient(cc), time.Minute)
			if p := port(); p.Generations[0].FilterChains[0].Connections != want {
				t.Errorf("the current generation is %v; want %d connections", p.Generations[0], want)
			}
			_ = cc.Close()
		}
		w.set(listener.Type().URL(), new(listenerv3.Listener), `name: "server/10.0.0.1:80" address { socket_address { address: "10.0.0.1" port_value: 81 } }
			filter_chains { %s }`, network(inline(anyRoute)))
		<-s.events
		if p := port(); p.Mode != dataplane.NotServing || !strings.Contains(p.Reason, "its address is") || !p.Since.Equal(time.Now()) {
			t.Errorf("with a Listener of another address: %v; want the reason", p)
		}
		if b, err := json.Marshal(w.env.Servers()); err != nil || !strings.Contains(string(b), `"mode":"NOT_SERVING"`) {
			t.Errorf("JSON = %s, %v", b, err)
		}
		s.Stop()
		if servers := w.env.Servers(); len(servers) != 0 {
			t.Errorf("Servers after Stop = %v", servers)
		}
	})
}
