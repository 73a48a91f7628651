package client_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// newNetwork is a network of servers that have the thing "a" under the names given.
func newNetwork(uris []string, names ...string) memoryads.Network {
	network := make(memoryads.Network)
	for _, uri := range uris {
		network[uri] = memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true, Wildcard: true})
		for _, name := range names {
			network[uri].Set(things.URL(), thing(name, uri))
		}
	}
	return network
}

// The stream and the connection to a server that was fallen back to close as soon as no
// authority and no scope needs them (gRFC A71). Those that nobody watches on linger.
func TestWorseServersAreLeftAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one, two = "xdstp://one/test.Thing/a", "xdstp://two/test.Thing/a"
		network := newNetwork([]string{"memory:1", "memory:2", "memory:worse"}, one, two)
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		spec := bootstrap.Spec{Authorities: map[string]bootstrap.AuthoritySpec{
			"one": {Servers: []bootstrap.ServerSpec{server("memory:1"), server("memory:worse")}},
			"two": {Servers: []bootstrap.ServerSpec{server("memory:2"), server("memory:worse")}},
		}}
		pool := client.NewPool(network)
		defer func() { _ = pool.Close() }()
		scope := func() *client.Client {
			c, err := newWith(config(t, spec), types, withPool(pool))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		c, other := scope(), scope()
		worse := func(when string, streams, connections int) {
			t.Helper()
			pass(time.Millisecond)
			if s, n := network["memory:worse"].Open(), network["memory:worse"].Connections(); s != streams || n != connections {
				t.Errorf("%s: %d streams and %d connections to the worse server, want %d and %d", when, s, n, streams, connections)
			}
		}
		for _, uri := range []string{"memory:1", "memory:2"} {
			network[uri].Refuse(errors.New("refused"))
		}
		first, second := follow(t.Context(), t, c, things, one), follow(t.Context(), t, c, things, two)
		third := follow(t.Context(), t, other, things, two)
		for _, f := range []*follower{first, second, third} {
			f.value("memory:worse")
		}
		worse("fallen back", 2, 1)
		network["memory:1"].Refuse(nil)
		first.value("memory:1")
		worse("one authority is back", 2, 1)
		third.o.Stop()
		worse("the other scope watches nothing", 2, 1)
		network["memory:2"].Refuse(nil)
		second.value("memory:2")
		worse("both authorities are back", 1, 1) // the other scope's stream lingers
		pass(time.Minute)
		worse("the other scope's stream has lingered", 0, 0)
		second.o.Stop()
		first.o.Stop()
		pass(2 * time.Minute)
		if n := network["memory:1"].Connections(); n != 1 {
			t.Errorf("%d connections to the best server a minute after nothing is watched, want 1", n)
		}
	})
}
