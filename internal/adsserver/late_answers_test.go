package adsserver

import (
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A client that subscribes to a glob after the bound waits no longer than the first one, but its own bound.
func TestLaterSubscriptionToGlobWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down scripted
		m, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		for i := range 2 {
			n := newNaive(t, c, false)
			n.change(clusterURL, []string{"a", downGlob}, nil)
			pass(10 * time.Second)
			n.read()
			if got := n.of(clusterURL).has; !maps.Equal(got, map[string]string{"a": "a=1"}) {
				t.Errorf("client %d has %q after 10 s", i, got)
			}
		}
	})
}

// A client that unsubscribes from a name without an answer, and still subscribes to its glob, is not told that the
// resource is gone. When the source answers, it is told what the source says.
func TestUnsubscriptionFromNameWithoutAnswer(t *testing.T) {
	const name = "xdstp://down/envoy.config.cluster.v3.Cluster/dir/x"
	for _, exists := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var down scripted
			_, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
			n := newNaive(t, c, true)
			y := n.of(clusterURL)
			y.names[name], y.version[name], y.has[name] = true, "1", name+"=1"
			n.change(clusterURL, []string{name, downGlob}, nil)
			pass(10 * time.Second)
			n.read()
			if y.errors[name] == "" {
				t.Fatal("the client received no error")
			}
			n.change(clusterURL, nil, []string{name})
			n.read()
			if y.gone[name] {
				t.Error("the client was told that the resource is gone, and its source is down")
			}
			change := source.Change{Epoch: "1", Revision: 1, Complete: []source.Interest{{Type: clusterURL, Name: downGlob}}}
			if exists {
				change.Put = []source.Resource{put(clusterURL, name, "1")}
				change.Put[0].Version = "1"
			}
			if err := down.sink.Apply(change); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			n.read()
			if y.gone[name] == exists {
				t.Errorf("exists = %t, and the client was told that it is gone: %t", exists, y.gone[name])
			}
		})
	}
}

// A resource that the client claims is sent in any case after an error in its place, so that the error ends.
func TestClaimAfterError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down scripted
		_, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
		n := newNaive(t, c, true)
		y := n.of(clusterURL)
		y.version[downName] = "1"
		n.change(clusterURL, []string{downName}, nil)
		pass(10 * time.Second)
		n.read()
		change := source.Change{Epoch: "1", Revision: 1, Put: []source.Resource{put(clusterURL, downName, "1")}, Complete: []source.Interest{{Type: clusterURL, Name: downName}}}
		change.Put[0].Version = "1"
		if err := down.sink.Apply(change); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		n.read()
		if y.has[downName] == "" || len(y.errors) > 0 {
			t.Errorf("the client has %q and the errors %v", y.has, y.errors)
		}
	})
}

// The removal of a resource is told to the clients of its glob even if the source has not answered for its name.
func TestRemovalOfNameWithoutAnswer(t *testing.T) {
	const name = "xdstp://down/envoy.config.cluster.v3.Cluster/dir/x"
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var down scripted
			_, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
			globs, names := newNaive(t, c, delta), newNaive(t, c, delta)
			globs.change(clusterURL, []string{downGlob}, nil)
			apply := func(ch source.Change) {
				t.Helper()
				if err := down.sink.Apply(ch); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			r := put(clusterURL, name, "1")
			r.Version = "1"
			apply(source.Change{Epoch: "1", Revision: 1, Put: []source.Resource{r}, Complete: []source.Interest{{Type: clusterURL, Name: downGlob}}})
			globs.read()
			names.change(clusterURL, []string{name}, nil)
			pass(10 * time.Second)
			names.read()
			for _, n := range []*naive{globs, names} {
				if y := n.of(clusterURL); y.has[name] == "" || len(y.errors) > 0 {
					t.Errorf("delta = %t: a client has %q and the errors %v", delta, y.has, y.errors)
				}
			}
			apply(source.Change{Epoch: "1", Revision: 2, Delete: []source.Key{r.Key}})
			for i, n := range []*naive{globs, names} {
				n.read()
				if y := n.of(clusterURL); len(y.has) > 0 || len(y.errors) > 0 {
					t.Errorf("delta = %t: client %d has %q and the errors %v after the removal", delta, i, y.has, y.errors)
				}
			}
		})
	}
}

// Many names without answers do not keep others from the lock of the core.
func TestFailuresInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down scripted
		_, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
		var parts atomic.Int32
		c.part, c.between = 4, func() { parts.Add(1) }
		n := newNaive(t, c, true)
		var list []string
		for i := range 9 {
			list = append(list, fmt.Sprint(downName, i))
		}
		n.change(clusterURL, list, nil)
		parts.Store(0)
		pass(10 * time.Second)
		if got := parts.Load() + 1; got < 3 {
			t.Errorf("9 errors were made in %d parts, want at least 3", got)
		}
		n.read()
		if got := len(n.of(clusterURL).errors); got != len(list) {
			t.Errorf("the client has %d errors, want %d", got, len(list))
		}
	})
}
