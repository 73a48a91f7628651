package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A server that allows one stream on a connection gets another connection for the
// second scope; grpc-go alone would wait for ever.
func TestScopesShareAServerOfOneStream(t *testing.T) {
	s, err := controlplane.Start([]string{clusterName, endpointName}, grpc.MaxConcurrentStreams(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	set(t, s, "a", cluster("a", "1"))
	pool := client.NewPool(nil)
	defer func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	cfg := oneServer(t, s.Addr())
	one, two := newClient(t, cfg, withPool(pool)), newClient(t, cfg, withPool(pool))
	ctx := testContext(t)
	follow(ctx, t, one, clusters, "a").value("1")
	f := follow(ctx, t, two, clusters, "a")
	f.value("1")
	if s.Connections() != 2 || s.Streams() != 2 {
		t.Errorf("%d connections, %d streams; want two of each", s.Connections(), s.Streams())
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	set(t, s, "a", cluster("a", "2"))
	f.value("2")
}

// One process may have several scopes. Each falls back on its own (gRFC A71).
func TestScopesFallBackApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		network := make(memoryads.Network)
		for _, uri := range []string{"memory:1", "memory:2"} {
			network[uri] = memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true, Wildcard: true})
			network[uri].Set(things.URL(), thing("a", uri), thing("b", uri))
		}
		pool := client.NewPool(network)
		spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1"), server("memory:2")}}
		scope := func() *client.Client {
			c, err := newWith(config(t, spec), types, withPool(pool))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		one, two := scope(), scope()
		content, needy := follow(t.Context(), t, one, things, "a"), follow(t.Context(), t, two, things, "a")
		content.value("memory:1")
		needy.value("memory:1")
		network["memory:1"].Refuse(errors.New("refused"))
		network["memory:1"].Disconnect(errors.New("cut"))
		content.ambient(resource.ErrTransport)
		needy.ambient(resource.ErrTransport)
		missing := follow(t.Context(), t, two, things, "b")
		missing.value("memory:2")
		needy.value("memory:2")
		if n := network["memory:2"].Open(); n != 1 {
			t.Errorf("%d streams to the second server; want that of the scope that needs it", n)
		}
		network["memory:1"].Refuse(nil)
		content.value("memory:1") // the end of the trouble
		needy.value("memory:1")
		missing.value("memory:1")
		synctest.Wait()
		pass(2 * time.Minute)
		if n := network["memory:2"].Open(); n != 0 {
			t.Errorf("%d streams to the second server, which nobody needs any longer", n)
		}
	})
}

// An authority with A95's knob falls back when its server is unreachable, though everything is cached. Others do not.
func TestFallbackOnReachabilityOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		const eager, plain = "xdstp://e/test.Thing/a", "xdstp://f/test.Thing/a"
		network := make(memoryads.Network)
		for _, uri := range []string{"memory:1", "memory:2"} {
			network[uri] = memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true, Wildcard: true})
			network[uri].Set(things.URL(), thing(eager, uri), thing(plain, uri))
		}
		c, err := newWith(config(t, bootstrap.Spec{
			Servers:     []bootstrap.ServerSpec{server("memory:1"), server("memory:2")},
			Authorities: map[string]bootstrap.AuthoritySpec{"e": {FallbackOnReachabilityOnly: true}, "f": {}},
		}), types, withTransport(network))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		moves, stays := follow(t.Context(), t, c, things, eager), follow(t.Context(), t, c, things, plain)
		moves.value("memory:1")
		stays.value("memory:1")
		network["memory:1"].Refuse(errors.New("refused"))
		network["memory:1"].Disconnect(errors.New("cut"))
		stays.ambient(resource.ErrTransport)
		moves.value("memory:2")
		network["memory:1"].Refuse(nil)
		stays.value("memory:1") // the end of the trouble
		moves.value("memory:1")
	})
}

// Close does not wait for watchers that never return, nor for servers that never
// answer.
func TestCloseIsQuick(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	dead, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dead.Close() }()
	c := newClient(t, config(t, bootstrap.Spec{
		Servers:     []bootstrap.ServerSpec{server(s.Addr())},
		Authorities: map[string]bootstrap.AuthoritySpec{"dead.example": {Servers: []bootstrap.ServerSpec{server(dead.Addr().String())}}},
	}))
	in, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	if _, err := c.Subscribe(clusters, "a", delivered(recorder{changed: func(resource.Update) {
		close(in)
		<-release
	}})); err != nil {
		t.Fatal(err)
	}
	iteration := make(chan struct{})
	go func() {
		defer close(iteration)
		for ev := range clusters.Handle().Watch(context.Background(), c, xdstpName("dead.example", clusterName, "x")) {
			if !errors.Is(ev.Err, resource.ErrClosed) {
				t.Errorf("the watch yielded %v", ev)
			}
		}
	}()
	receive(testContext(t), t, "the watcher", in)
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Close took %v; an attempt to connect takes 20 s", took)
	}
	<-iteration
}

// Close waits half a second for a decoder.
func TestCloseWaitsForADecoder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for decoding, want := range map[string]time.Duration{"1m": 500 * time.Millisecond, "499ms": 499 * time.Millisecond} {
			c, s, one, _ := newSlowThings(t)
			s.Set(one.URL(), thing("slow", decoding))
			follow(t.Context(), t, c, one, "slow")
			synctest.Wait()
			began := time.Now()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("Close took %v beside a decoder that takes %s, want %v", took, decoding, want)
			}
			pass(time.Minute) // the decoder ends
		}
	})
}

// An authority uses no more servers than it can count. Other authorities do not affect it.
func TestServersBeyondTheLimitAreNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		var all []bootstrap.ServerSpec
		network := make(memoryads.Network)
		for i := range authority.MaxServers + 1 {
			uri := fmt.Sprintf("memory:%d", i)
			network[uri] = memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true})
			network[uri].Refuse(errors.New("refused"))
			all = append(all, server(uri))
		}
		spec := bootstrap.Spec{Authorities: map[string]bootstrap.AuthoritySpec{
			"all": {Servers: all}, "last": {Servers: all[authority.MaxServers:]},
		}}
		c, err := newWith(config(t, spec), types, withTransport(network))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		follow(t.Context(), t, c, things, "xdstp://last/test.Thing/a").failed(resource.ErrTransport)
		follow(t.Context(), t, c, things, "xdstp://all/test.Thing/a").failed(resource.ErrTransport)
		s, err := c.Snapshot(t.Context())
		if err != nil || len(s.Authorities[0].Servers) != authority.MaxServers {
			t.Errorf("%d servers, %v; want as many as can be used", len(s.Authorities[0].Servers), err)
		}
	})
}

// Close does not wait until all of a long response is decoded.
func TestCloseEndsDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true, Wildcard: true})
		for i := range 1000 {
			s.Set(things.URL(), thing(fmt.Sprint(i), "1"))
		}
		var c *client.Client
		var other resource.Observation
		var decoded atomic.Int64
		over := make(chan struct{})
		slow := *things
		slow.Collection = ""
		slow.Decode = func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
			if decoded.Add(1) == 1 {
				go func() { _ = c.Close() }()
				if _, err := other.Next(t.Context()); !errors.Is(err, resource.ErrClosed) {
					t.Errorf("error = %v, want ErrClosed", err)
				}
				close(over)
			}
			<-over
			return things.Decode(dc, body)
		}
		types, err := resource.NewSet(&slow)
		if err != nil {
			t.Fatal(err)
		}
		spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1")}}
		if c, err = newWith(config(t, spec), types, withTransport(memoryads.Network{"memory:1": s})); err != nil {
			t.Fatal(err)
		}
		if other, err = c.Observe(&slow, "other"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ObserveCollection(&slow, resource.Wildcard); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if n := decoded.Load(); n > int64(runtime.GOMAXPROCS(0)) {
			t.Errorf("%d resources decoded, want those under way: one for each processor at most", n)
		}
		_ = c.Close()
	})
}
