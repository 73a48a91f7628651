package adsserver

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A first request that also unsubscribes does not subscribe to the wildcard.
func TestFirstRequestThatUnsubscribes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "b", "1")))
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a"}, []string{"b"})
		synctest.Wait()
		n.read()
		if got := c.SubscribedTo(clusterURL); !slices.Equal(got, []string{"a"}) {
			t.Errorf("the stream subscribes to %q, want a", got)
		}
		if has := n.of(clusterURL).has; len(has) != 1 {
			t.Errorf("the client has %q, want a", has)
		}
	})
}

// A resource that was sent for an alias is released with the subscription to the alias, even if it has changed since.
func TestAliasOfAChangedResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"alias", "other"}, nil)
		for _, value := range []string{"1", "2", "3"} {
			r := put(clusterURL, "a", value)
			r.Aliases = []string{"alias"}
			commit(t, m, new(source.Tx).Put(r))
			n.read()
			if got := n.of(clusterURL).has["a"]; got != "a="+value {
				t.Errorf("the client has %q, want version %s of the resource", got, value)
			}
		}
		n.change(clusterURL, nil, []string{"alias"})
		synctest.Wait()
		if k := c.types[clusterURL]; len(k.entries) != 1 {
			t.Errorf("%d entries for one name", len(k.entries))
		}
	})
}

// A refused name counts until the client unsubscribes from it.
func TestRefusedNameThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.stream.allow = func(_, name string) bool { return name != "secret" }
		n.change(clusterURL, []string{"a"}, nil)
		n.read()
		before := n.stream.names
		n.change(clusterURL, []string{"secret"}, nil)
		n.read()
		if n.of(clusterURL).errors["secret"] != refusal || n.stream.names != before+1 {
			t.Errorf("the client has the errors %q, and the stream counts %d names; want a refusal, and %d names", n.of(clusterURL).errors, n.stream.names, before+1)
		}
		n.change(clusterURL, nil, []string{"secret"})
		if n.stream.names != before {
			t.Errorf("the stream counts %d names without the refused one, want %d", n.stream.names, before)
		}
	})
}

// A client is behind since the change that it has not read.
func TestBehindSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a"}, nil)
		synctest.Wait()
		n.read()
		pass(time.Minute)
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		changed := time.Now()
		pass(time.Minute)
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
		if got := c.Clients()[0].Types[0]; got.UpToDate || !got.Behind.Equal(changed) || got.Sent != 1 || c.Counts()[clusterURL].Responses != 1 {
			t.Errorf("the client is %+v, want one response, and it behind since %v", got, changed)
		}
	})
}

// Only a response without names says that a wildcard is empty, so that it is not one about an empty glob.
func TestEmptyWildcardBesideAnEmptyGlob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{source.Wildcard, glob + "*"}, nil)
		synctest.Wait()
		var removed [][]string
		for _, r := range n.readDelta(t) {
			removed = append(removed, r.GetRemovedResources())
		}
		if len(removed) != 2 || !slices.Equal(removed[0], []string{glob + "*"}) || len(removed[1]) != 0 {
			t.Errorf("the responses remove %q, want one with the glob and one without names", removed)
		}
	})
}

// Removals beyond the limit of a response are sent in several ones. A resource that exists again meanwhile is not removed.
func TestRemovalsAreDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{Limits: Limits{ResponseBytes: 100}})
		n := newNaive(t, c, true)
		var missing []string
		for i := range 50 {
			missing = append(missing, fmt.Sprintf("name-%02d", i))
		}
		n.change(clusterURL, missing, nil)
		synctest.Wait()
		n.next("")
		y := n.of(clusterURL)
		if told := len(y.gone); told == 0 || told > 12 {
			t.Errorf("the first response has %d of 50 removals, want some and at most 12", told)
		}
		commit(t, m, new(source.Tx).Put(put(clusterURL, "name-49", "1")))
		n.read()
		if len(y.gone) != 49 || y.has["name-49"] != "name-49=1" {
			t.Errorf("the client is told that %d names do not exist, and has %v; want 49 and name-49", len(y.gone), y.has)
		}
	})
}
