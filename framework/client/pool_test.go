package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// inPool runs a test with a pool of connections to a control plane in memory.
func inPool(t *testing.T, test func(plane *memoryads.Server, pool *client.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		plane := memoryads.NewServer(memoryads.Type{URL: clusterURL, Complete: true})
		pool := client.NewPool(memoryads.Network{"dns:memory:1": plane, "dns:///memory:1": plane})
		defer pool.Close()
		test(plane, pool)
	})
}

// watchIn has a client of a bootstrap of its own watch something until it is closed.
func watchIn(t *testing.T, pool *client.Pool, servers ...bootstrap.ServerSpec) *client.Client {
	t.Helper()
	types, err := resource.NewSet(clusters)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newWith(config(t, bootstrap.Spec{Servers: servers}), types, withPool(pool))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Observe(clusters, "a"); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return c
}

// Server entries share a connection if their keys are equal, also if they are of bootstraps that
// were read separately and name the server in two ways. Entries with other credentials do not.
func TestPoolKnowsServersByKey(t *testing.T) {
	inPool(t, func(plane *memoryads.Server, pool *client.Pool) {
		first := watchIn(t, pool, server("dns:memory:1"))
		defer first.Close()
		second := watchIn(t, pool, server("dns:memory:1", "a feature that nobody knows"))
		defer second.Close()
		third := watchIn(t, pool, server("dns:///memory:1"))
		defer third.Close()
		streams, _ := plane.Opened()
		if n := plane.Connections(); n != 1 || streams != 3 {
			t.Errorf("%d connections, %d streams; want one connection with three streams", n, streams)
		}
		other := server("dns:memory:1")
		other.ChannelCreds = []bootstrap.CredsSpec{{Type: "tls"}}
		fourth := watchIn(t, pool, other)
		defer fourth.Close()
		if n := plane.Connections(); n != 2 {
			t.Errorf("%d connections; want another one for other credentials", n)
		}
	})
}

// A connection that nobody uses is kept for 10 minutes, counted from the last use (A47).
func TestPoolIdleTime(t *testing.T) {
	inPool(t, func(plane *memoryads.Server, pool *client.Pool) {
		pass := func(d time.Duration, want int) {
			t.Helper()
			<-time.NewTimer(d).C
			synctest.Wait()
			if n := plane.Connections(); n != want {
				t.Errorf("%d connections; want %d", n, want)
			}
		}
		_ = watchIn(t, pool, server("dns:memory:1")).Close()
		pass(10*time.Minute-time.Second, 1)
		again := watchIn(t, pool, server("dns:memory:1"))
		pass(20*time.Minute, 1)
		_ = again.Close()
		pass(10*time.Minute-time.Second, 1)
		pass(2*time.Second, 0)
	})
}
