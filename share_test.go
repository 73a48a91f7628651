package xdsforge_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// soon is a context with more time than any test needs.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// plane starts a control plane that has the cluster checkout.
func plane(t *testing.T) *controlplane.Server {
	t.Helper()
	s, err := controlplane.Start([]string{cluster.Type().Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if err := s.Set("checkout", &clusterv3.Cluster{
		Name: "checkout", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{}}},
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func bootstrapOf(s *controlplane.Server) string {
	return fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, s.Addr())
}

// TestConnectionsAreShared expects clients of several Envs to use one connection, apart from an
// Env that has private ones.
func TestConnectionsAreShared(t *testing.T) {
	s := plane(t)
	client := func(opts ...xdsforge.Option) *xdsforge.Client {
		c, err := xdsforge.New(append(opts, xdsforge.WithBootstrap(parse(t, bootstrapOf(s))), xdsforge.WithTypes(cluster.Register))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := cluster.Get(soon(t), c, "checkout"); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := client()
	client()
	if conns, streams := s.Connections(), s.Streams(); conns != 1 || streams != 2 {
		t.Errorf("two clients: %d connections, %d streams; want 1 and 2", conns, streams)
	}
	_ = first.Close()
	client()
	if conns := s.Connections(); conns != 1 {
		t.Errorf("the Env that closed took the connection with it: %d connections", conns)
	}
	client(xdsforge.WithPrivateConnections())
	if conns := s.Connections(); conns != 2 {
		t.Errorf("%d connections; an Env with private connections must have one of its own", conns)
	}
}

// TestPoolEndsWithTheLastEnv expects a new connection after all Envs were closed.
func TestPoolEndsWithTheLastEnv(t *testing.T) {
	s := plane(t)
	for want := 1; want <= 2; want++ {
		c, err := xdsforge.New(xdsforge.WithBootstrap(parse(t, bootstrapOf(s))), xdsforge.WithTypes(cluster.Register))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.Get(soon(t), c, "checkout"); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if got := s.Connections(); got != want {
			t.Errorf("%d connections; want %d", got, want)
		}
	}
}
