package adsserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
)

// One commit moves a route from a cluster to a changed one and deletes the first. In both variants, the client has
// the first cluster until it has the route.
func TestRemovalsComeLast(t *testing.T) {
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			n := newNaive(t, c, delta)
			n.change(clusterURL, []string{source.Wildcard}, nil)
			n.change(routeURL, []string{"route"}, nil)
			n.change(listenerURL, []string{"old", "other"}, nil)
			commit(t, m, new(source.Tx).Put(put(clusterURL, "old", "1")).Put(put(clusterURL, "other", "1")).Put(put(routeURL, "route", "old")).
				Put(put(listenerURL, "old", "1")).Put(put(listenerURL, "other", "1")))
			n.read()
			commit(t, m, new(source.Tx).Put(put(clusterURL, "other", "2")).Delete(key(clusterURL, "old")).Put(put(routeURL, "route", "other")).
				Put(put(listenerURL, "other", "2")).Delete(key(listenerURL, "old")))
			var got []string
			for n.next("") {
				got = append(got, fmt.Sprintf("%v %s %v",
					slices.Sorted(maps.Values(n.of(clusterURL).has)), n.of(routeURL).has["route"], slices.Sorted(maps.Values(n.of(listenerURL).has))))
			}
			want := []string{
				"[old=1 other=2] route=old [old=1 other=1]",
				"[old=1 other=2] route=old [old=1 other=2]",
				"[old=1 other=2] route=other [old=1 other=2]",
				"[old=1 other=2] route=other [other=2]",
				"[other=2] route=other [other=2]",
			}
			if !slices.Equal(got, want) {
				t.Errorf("delta = %t: after each response, the client has\n%s\nwant\n%s", delta, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if c.kept.Len() != 0 || c.keptBytes != 0 {
				t.Errorf("delta = %t: %d contents with %d bytes are kept", delta, c.kept.Len(), c.keptBytes)
			}
		})
	}
}

// Removed contents are kept only while a client has them, and up to a limit.
func TestKeptContents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		reader, idle := newNaive(t, c, false), newNaive(t, c, false)
		for _, n := range []*naive{reader, idle} {
			n.change(clusterURL, []string{source.Wildcard}, nil)
		}
		const size, count = 1 << 20, maxKeptBytes>>20 + 10
		name := func(i int) string { return fmt.Sprintf("%03d", i) }
		for i := range count {
			commit(t, m, new(source.Tx).Put(put(clusterURL, name(i), strings.Repeat("x", size))))
		}
		reader.read()
		idle.read()
		for i := range count {
			commit(t, m, new(source.Tx).Delete(key(clusterURL, name(i))))
		}
		if c.keptBytes > maxKeptBytes || c.kept.Len() < maxKeptBytes/size-1 {
			t.Errorf("%d contents with %d bytes are kept, want as many as %d bytes have", c.kept.Len(), c.keptBytes, maxKeptBytes)
		}
		commit(t, m, new(source.Tx).Put(put(clusterURL, name(count-1), "again")))
		reader.read()
		if len(reader.of(clusterURL).has) != 1 {
			t.Errorf("the client has %d resources, want 1", len(reader.of(clusterURL).has))
		}
		idle.stream.Close(nil)
		if c.kept.Len() != 0 || c.keptBytes != 0 {
			t.Errorf("%d contents with %d bytes are kept for nobody", c.kept.Len(), c.keptBytes)
		}
	})
}

// A response never has a resource twice: a removed alias keeps no older version of the resource.
func TestRemovedAliasKeepsNoOlderVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, false)
		n.change(clusterURL, []string{"a", "x"}, nil)
		r := put(clusterURL, "a", "1")
		r.Aliases = []string{"x"}
		commit(t, m, new(source.Tx).Put(r))
		n.read()
		n.older = func(name, had, body string) {
			if body != "a=2" {
				t.Errorf("%s: %q replaces %q", name, body, had)
			}
		}
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
		for n.next("") {
			if got := n.of(clusterURL).has["a"]; got != "a=2" {
				t.Errorf("the client has %q", got)
			}
		}
	})
}

// A client that has an error in the place of a resource does not receive a resource that came and went.
func TestErrorsKeepNoRemovedContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, false)
		n.change(clusterURL, []string{"a", "b"}, nil)
		commit(t, m, new(source.Tx).Put(source.Resource{Key: key(clusterURL, "a"), Err: &rpcstatus.Status{Code: 14, Message: "x"}}).Put(put(clusterURL, "b", "1")))
		n.read()
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		commit(t, m, new(source.Tx).Delete(key(clusterURL, "a")).Put(put(clusterURL, "b", "2")))
		if c.kept.Len() != 0 {
			t.Errorf("%d contents are kept for a client that has none", c.kept.Len())
		}
		for n.next("") {
			if got := n.of(clusterURL).has; !maps.Equal(got, map[string]string{"b": "b=2"}) {
				t.Errorf("the client has %v", got)
			}
		}
	})
}
