package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A client uses stored resources only if they are valid today and came from a server of its bootstrap. It
// drops the invalid ones, and passes aliases and times to live on. The log says that the store is in use.
func TestStoredResources(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lkg")
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		c := config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1")}})
		store, err := lkg.Open(lkg.Options{Dir: dir}, lkg.Node{})
		if err != nil {
			t.Fatal(err)
		}
		key := c.Servers()[0].Key()
		stored := func(name, tag, server string) lkg.Resource {
			return lkg.Resource{Type: things.Name, Name: name, Version: "1", Server: server, Body: thing(name, tag).Body}
		}
		alias := stored("a", "1", key)
		alias.Name, alias.AliasOf = "alias of a", "a"
		brief := stored("brief", "1", key)
		brief.Expires = time.Now().Add(time.Minute)
		w := store.Writer(lkg.Authority{OldStyle: true})
		for _, r := range []lkg.Resource{stored("invalid", "bad", key), stored("foreign", "1", "another key"), alias, brief} {
			w.Apply([]lkg.Change{{Op: lkg.Put, Resource: r}})
		}
		w.Close()
		plane := memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true})
		plane.Refuse(errors.New("refused"))
		var log strings.Builder
		cl, err := newWith(c, types, withTransport(memoryads.Network{"memory:1": plane}), withLogger(slog.New(slog.NewTextHandler(&log, nil))),
			func(o *client.Options) { o.Store = store })
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		states := make(map[string]resource.State)
		last := func(name string) resource.State {
			mu.Lock()
			defer mu.Unlock()
			return states[name]
		}
		for _, name := range []string{"invalid", "foreign", "alias of a", "brief"} {
			if _, err := cl.Subscribe(things, name, func(s, _ resource.State) {
				mu.Lock()
				defer mu.Unlock()
				states[name] = s
			}); err != nil {
				t.Fatal(err)
			}
		}
		pass(10 * time.Second)
		for name, want := range map[string]bool{"invalid": false, "foreign": false, "alias of a": true, "brief": true} {
			if s := last(name); (s.Update != nil) != want || !errors.Is(s.Err, resource.ErrTransport) {
				t.Errorf("%s: %+v; want an update: %v, and a transport error", name, s, want)
			}
		}
		if u := last("alias of a").Update; u != nil && u.Name().String() != "a" {
			t.Errorf("the alias has the update of %v, want a", u.Name())
		}
		pass(time.Minute)
		if s := last("brief"); s.Update != nil || !errors.Is(s.Err, resource.ErrTransport) {
			t.Errorf("after its time to live: %+v; want a transport error", s)
		}
		if st := store.Status().Authorities[0]; st.Dropped != 1 {
			t.Errorf("dropped = %d, want the invalid resource", st.Dropped)
		}
		if err := errors.Join(cl.Close(), store.Close()); err != nil {
			t.Fatal(err)
		}
		if n := len(lines(log.String(), "using the last known good store")); n != 1 {
			t.Errorf("%d lines about the store, want 1:\n%s", n, log.String())
		}
	})
}

// The store does not answer for a collection of which it has no member. Watchers learn that the servers are unreachable.
func TestStoredCollectionWithoutMembers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lkg")
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		c := config(t, bootstrap.Spec{Authorities: map[string]bootstrap.AuthoritySpec{"x": {Servers: []bootstrap.ServerSpec{server("memory:1")}}}})
		store, err := lkg.Open(lkg.Options{Dir: dir}, lkg.Node{})
		if err != nil {
			t.Fatal(err)
		}
		const glob = "xdstp://x/test.Thing/dir/"
		a, _ := c.Authority("x")
		collection := lkg.Resource{Type: things.Name, Name: glob + "*", Collection: true, Server: a.Servers[0].Key()}
		foreign := lkg.Resource{Type: things.Name, Name: glob + "a", Version: "1", Server: "another key", Body: thing(glob+"a", "1").Body}
		w := store.Writer(lkg.Authority{Name: "x"})
		w.Apply([]lkg.Change{{Op: lkg.Put, Resource: collection}, {Op: lkg.Put, Resource: foreign}})
		w.Close()
		plane := memoryads.NewServer(memoryads.Type{URL: things.URL()})
		plane.Refuse(errors.New("refused"))
		cl, err := newWith(c, types, withTransport(memoryads.Network{"memory:1": plane}), func(o *client.Options) { o.Store = store })
		if err != nil {
			t.Fatal(err)
		}
		collect(t, cl, glob+"*").wants("! control plane unreachable")
		if err := errors.Join(cl.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
}

// An authority with more servers than it can use has the store after the last one that it uses.
func TestStoreAfterTheMostServers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lkg")
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		var all []bootstrap.ServerSpec
		network := make(memoryads.Network)
		for i := range authority.MaxServers + 1 {
			uri := fmt.Sprintf("memory:%d", i)
			network[uri] = memoryads.NewServer(memoryads.Type{URL: things.URL()})
			network[uri].Refuse(errors.New("refused"))
			all = append(all, server(uri))
		}
		c := config(t, bootstrap.Spec{Servers: all})
		store, err := lkg.Open(lkg.Options{Dir: dir}, lkg.Node{})
		if err != nil {
			t.Fatal(err)
		}
		r := lkg.Resource{Type: things.Name, Name: "a", Version: "1", Server: c.Servers()[0].Key(), Body: thing("a", "1").Body}
		w := store.Writer(lkg.Authority{OldStyle: true})
		w.Apply([]lkg.Change{{Op: lkg.Put, Resource: r}})
		w.Close()
		cl, err := newWith(c, types, withTransport(network), func(o *client.Options) { o.Store = store })
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of the bubble
		defer cancel()
		follow(ctx, t, cl, things, "a").ambient(resource.ErrTransport)
		s, err := cl.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if servers := s.Authorities[0].Servers; len(servers) != authority.MaxServers {
			t.Errorf("the authority has %d servers with the store; want %d", len(servers), authority.MaxServers)
		}
		if err := errors.Join(cl.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
}

// The store gets complete resources only, and learns when a client ends.
func TestStoreLearnsTheState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lkg")
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		store, err := lkg.Open(lkg.Options{Dir: dir, MaxAge: time.Hour}, lkg.Node{})
		if err != nil {
			t.Fatal(err)
		}
		plane := memoryads.NewServer(memoryads.Type{URL: things.URL()})
		plane.Set(things.URL(), thing("a", "1"))
		c := config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1")}})
		cl, err := newWith(c, types, withTransport(memoryads.Network{"memory:1": plane}), func(o *client.Options) { o.Store = store })
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "absent"} {
			if _, err := cl.Subscribe(things, name, func(_, _ resource.State) {}); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(when string, writes uint64, usable bool) {
			t.Helper()
			_, ok := store.Lookup(lkg.Authority{OldStyle: true}, things.Name, "a")
			if st := store.Status().Authorities[0]; st.Writes != writes || ok != usable {
				t.Errorf("%s: %d writes, usable: %v; want %d, %v", when, st.Writes, ok, writes, usable)
			}
		}
		pass(14 * time.Second)
		expect("before the timer of the absent resource", 0, true)
		pass(2 * time.Second)
		expect("after the timer", 1, true)
		pass(2 * time.Hour)
		expect("while it is watched", 17, true)
		_ = cl.Close()
		pass(59 * time.Minute)
		expect("after the end of the client", 17, true)
		pass(2 * time.Minute)
		expect("after the largest age", 17, false)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
