package xdsd

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// backend runs a server of the health service until the test ends, and returns its port.
func backend(t *testing.T) int {
	t.Helper()
	lis, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(g, health.NewServer())
	go func() { _ = g.Serve(lis) }() // until Stop
	t.Cleanup(g.Stop)
	return lis.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of TCP
}

const routing = `"@type": type.googleapis.com/envoy.config.listener.v3.Listener
name: health
api_listener:
  api_listener:
    "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
    rds: {route_config_name: routes, config_source: {ads: {}}}
    http_filters: [{name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]
---
"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
name: routes
virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: ""}, route: {cluster: backends}}]}]
`

func endpoints(port int) string {
	return clusterYAML("backends", "ROUND_ROBIN") + fmt.Sprintf(`---
"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
cluster_name: backends
endpoints: [{locality: {region: a}, load_balancing_weight: 1, lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}}]}]
`, port)
}

// channel returns a channel that the daemon configures.
func (d *daemon) channel(t *testing.T, features string) *grpc.ClientConn {
	t.Helper()
	config, err := bootstrap.Parse([]byte(strings.Replace(d.bootstrap(), "]}]", "]"+features+"}]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Close() })
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///health", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

// calls makes calls until the test ends, and counts them.
type calls struct {
	made, failed atomic.Int64
	first        sync.Once
	err          error // of the first failed call
}

func (c *calls) run(t *testing.T, cc *grpc.ClientConn) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	client := grpc_health_v1.NewHealthClient(cc)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			callCtx, end := context.WithTimeout(ctx, limit)
			_, err := client.Check(callCtx, new(grpc_health_v1.HealthCheckRequest))
			end()
			if ctx.Err() != nil {
				return
			}
			c.made.Add(1)
			if err != nil {
				c.failed.Add(1)
				c.first.Do(func() { c.err = err })
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// more waits for a number of further calls.
func (c *calls) more(t *testing.T, n int64) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	want := c.made.Load() + n
	for deadline := time.Now().Add(limit); c.made.Load() < want; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d calls after %v; want %d", c.made.Load(), limit, want)
		}
	}
}

// untilClient waits until a client subscribes to four types. With the delta protocol, it may have the resources already.
func (d *daemon) untilClient(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		var status struct {
			Clients []struct{ Types []struct{ Names int } }
		}
		get(t, d.status, &status)
		subscribed := 0
		for _, c := range status.Clients {
			for _, x := range c.Types {
				if x.Names > 0 {
					subscribed++
				}
			}
		}
		if subscribed == 4 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no client subscribes to four types: %+v", status)
		}
	}
}

// No call of a running channel fails while the daemon restarts with broken files and a state directory, and while the files are
// repaired.
func TestCallsDuringARestartWithBrokenFiles(t *testing.T) {
	for name, features := range map[string]string{"state of the world": "", "delta": `, "server_features": ["xds.transport.delta"]`} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
			cluster := endpoints(backend(t))
			write(t, dir, "routing.yaml", routing)
			write(t, dir, "endpoints.yaml", cluster)
			var made calls
			var d *daemon
			t.Run("valid", func(s *testing.T) {
				d = start(s, dir, "-state-dir", state)
				made.run(t, d.channel(t, features))
				made.more(s, 100)
			})
			for _, broken := range []string{"routing.yaml", "endpoints.yaml"} {
				t.Run("broken "+broken, func(t *testing.T) {
					write(t, dir, broken, "]")
					d := start(t, dir, "-state-dir", state, "-listen", d.addr)
					d.expect(t, "is stale: files: some resources are not known: "+broken)
					d.untilClient(t)
					made.more(t, 300)
					write(t, dir, "routing.yaml", routing)
					write(t, dir, "endpoints.yaml", cluster)
					d.expect(t, "is live")
					made.more(t, 300)
				})
			}
			t.Logf("%d calls", made.made.Load())
			if n := made.failed.Load(); n > 0 {
				t.Errorf("%d of %d calls failed, the first one with: %v", n, made.made.Load(), made.err)
			}
		})
	}
}
