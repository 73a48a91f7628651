package adsserver

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// The changes of an interest in one event are combined to what the source has to know.
func TestWishes(t *testing.T) {
	for _, test := range []struct {
		wishes []wish
		want   map[source.Interest]wish
	}{
		{[]wish{add}, map[source.Interest]wish{{Type: clusterURL, Name: "a"}: add}},
		{[]wish{drop}, map[source.Interest]wish{{Type: clusterURL, Name: "a"}: drop}},
		{[]wish{add, drop}, map[source.Interest]wish{}},
		{[]wish{drop, add}, map[source.Interest]wish{{Type: clusterURL, Name: "a"}: renew}},
		{[]wish{drop, add, drop}, map[source.Interest]wish{{Type: clusterURL, Name: "a"}: drop}},
		{[]wish{drop, add, drop, add}, map[source.Interest]wish{{Type: clusterURL, Name: "a"}: renew}},
	} {
		f := new(feed)
		for _, w := range test.wishes {
			f.want(&kind{url: clusterURL}, "a", w)
		}
		if !maps.Equal(f.wants, test.want) {
			t.Errorf("after %v the source is asked for %v, want %v", test.wishes, f.wants, test.want)
		}
	}
}

// A name that a client spells in another way is the same name. An invalid one stays as it is.
func TestCanonicalNames(t *testing.T) {
	const prefix = "xdstp://a/envoy.config.cluster.v3.Cluster/x"
	for name, want := range map[string]string{
		"a":                   "a",
		prefix:                prefix,
		prefix + "?b=1&a=2":   prefix + "?a=2&b=1",
		"xdstp://a/b?c":       "xdstp://a/b?c=",
		"http://a/x?b=1&a=2":  "http://a/x?b=1&a=2",
		"xdstp:invalid?b&a=2": "xdstp:invalid?b&a=2",
	} {
		if got := canonical(name); got != want {
			t.Errorf("canonical(%q) = %q, want %q", name, got, want)
		}
	}
}

// Resources have their time to live in the message. Others have none.
func TestTimesToLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a", "b"}, nil)
		a, b := put(clusterURL, "a", "1"), put(clusterURL, "b", "1")
		a.TTL = 61*time.Second + 500*time.Millisecond
		commit(t, m, new(source.Tx).Put(a).Put(b))
		for _, r := range n.readDelta(t) {
			for _, x := range r.GetResources() {
				want := map[string]time.Duration{"a": a.TTL, "b": 0}[x.GetName()]
				if got := x.GetTtl().AsDuration(); got != want || (x.GetTtl() != nil) != (want != 0) {
					t.Errorf("the time to live of %s is %v, want %v", x.GetName(), x.GetTtl(), want)
				}
			}
		}
	})
}

// The core describes the subscriptions and the rejections of its clients.
func TestClientsAreDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a", "b", "missing", source.Wildcard}, nil)
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "c", "1")))
		for n.next("bad") {
		}
		clients := c.Clients()
		if len(clients) != 1 || len(clients[0].Types) != 1 {
			t.Fatalf("clients = %+v, want one with one type", clients)
		}
		y := clients[0].Types[0]
		if y.Names != 4 || y.Rejected == 0 || uint64(y.Rejected) != y.Sent || y.Reason != "bad" {
			t.Errorf("the type has %d names and %d rejections of %d responses because of %q; want 4, and all because of bad", y.Names, y.Rejected, y.Sent, y.Reason)
		}
		if got, want := c.Counts()[clusterURL], (Counts{Requests: 1 + y.Sent, Responses: y.Sent, Rejections: y.Sent}); got != want {
			t.Errorf("the counts are %+v, want %+v", got, want)
		}
	})
}

// Names and collections that belong to no source do not exist, each time that a client asks.
func TestWithoutASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		other, n := newNaive(t, c, true), newNaive(t, c, true)
		other.change(clusterURL, []string{"b"}, nil) // keeps the type
		for range 2 {
			n.change(clusterURL, []string{"a", glob + "*", source.Wildcard}, nil)
			synctest.Wait()
			var removed []string
			for _, r := range n.readDelta(t) {
				removed = append(removed, r.GetRemovedResources()...)
			}
			if want := []string{"a", glob + "*"}; !slices.Equal(removed, want) {
				t.Errorf("the server removes %q, want %q", removed, want)
			}
			n.change(clusterURL, nil, []string{"a", glob + "*", source.Wildcard})
		}
	})
}

// A client that has a resource by an alias alone learns both names of a resource that is removed.
func TestRemovalByAnAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"alias"}, nil)
		r := put(clusterURL, "a", "1")
		r.Aliases = []string{"alias"}
		commit(t, m, new(source.Tx).Put(r))
		n.read()
		commit(t, m, new(source.Tx).Delete(key(clusterURL, "a")))
		var removed []string
		for _, r := range n.readDelta(t) {
			removed = append(removed, r.GetRemovedResources()...)
		}
		if want := []string{"a", "alias"}; !slices.Equal(removed, want) {
			t.Errorf("the server removes %q, want %q", removed, want)
		}
	})
}

// An emptied list keeps the memory of at most 16 entries, and refers to none.
func TestShrink(t *testing.T) {
	for room, want := range map[int]int{1: 1, 16: 16, 17: 0, 100: 0} {
		list := make([]*entry, 1, room)
		list[0] = new(entry)
		if got := shrink(list); len(got) != 0 || cap(got) != want {
			t.Errorf("a list with room for %d has %d entries and room for %d afterwards, want none and %d", room, len(got), cap(got), want)
		} else if want > 0 && list[0] != nil {
			t.Errorf("a list with room for %d still refers to an entry", room)
		}
	}
}
