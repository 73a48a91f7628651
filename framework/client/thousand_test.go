package client_test

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// A thousand clients of one pool share ten connections to a server that allows a hundred
// streams on each. None of them falls back. Clients and pool close in any order.
func TestThousandClientsOnTenConnections(t *testing.T) {
	s, err := controlplane.Start([]string{clusterName, endpointName}, grpc.MaxConcurrentStreams(100))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	s.ForgetRequests()
	set(t, s, "a", cluster("a", "1"))
	fallback := startServer(t)
	set(t, fallback, "a", cluster("a", "of the fallback"))
	cfg := config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server(s.Addr()), server(fallback.Addr())}})
	pool := client.NewPool(nil)
	t.Cleanup(func() { _ = pool.Close() }) // it may be closed twice
	ctx := testContext(t)
	const n = 1000
	clients, followers := make([]*client.Client, n), make([]*follower, n)
	for i := range n {
		clients[i] = newClient(t, cfg, withPool(pool))
		followers[i] = follow(ctx, t, clients[i], clusters, "a")
	}
	for _, f := range followers {
		f.value("1")
	}
	if c, streams := s.Connections(), s.Streams(); c != 10 || streams != n {
		t.Errorf("%d connections, %d streams; want 10 and %d", c, streams, n)
	}
	if c := fallback.Connections(); c != 0 {
		t.Errorf("%d connections to the fallback, want none", c)
	}
	order := rand.Perm(n)
	for _, i := range order[:n/2] {
		if err := clients[i].Close(); err != nil {
			t.Error(err)
		}
	}
	set(t, s, "a", cluster("a", "2"))
	for _, i := range order[n/2:] {
		followers[i].value("2")
	}
	if c := s.Connections(); c != 10 {
		t.Errorf("%d connections after half of the clients have closed, want 10", c)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}
