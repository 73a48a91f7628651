package adsserver

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A client that does not read keeps no memory of names from which it has unsubscribed: nothing charges them.
func TestUnsubscribedNamesAreForgotten(t *testing.T) {
	request := func(delta bool, names, before []string) proto.Message {
		if delta {
			return deltaOf(names, before)
		}
		return wholeOf(append(names, "kept"))
	}
	for _, delta := range []bool{true, false} {
		for _, names := range []int{1, 7, 200} {
			synctest.Test(t, func(t *testing.T) {
				_, c := newCore(t, Config{})
				st, err := c.Open(delta)
				if err != nil {
					t.Fatal(err)
				}
				var before []string
				for i := range 100 {
					list := numbered(fmt.Sprint(i)+"-%d", names)
					if err := st.Request(encoded(t, request(delta, list, before))); err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // for the answer of the source
					before = list
				}
				if got := len(st.kinds[0].dirty); got > 3*names+3 {
					t.Errorf("delta=%t: the stream keeps %d names after subscriptions to %d at a time", delta, got, names)
				}
				if err := st.Request(encoded(t, request(delta, nil, before))); err != nil {
					t.Fatal(err)
				}
				if got := len(st.kinds[0].dirty); got > 3 {
					t.Errorf("delta=%t: the stream keeps %d names of ended subscriptions", delta, got)
				}
			})
		}
	}
}

// A client that subscribes to a collection again and again, and does not read, costs one look at its members.
func TestRepeatedCollections(t *testing.T) {
	const members = 40
	tx := new(source.Tx)
	for _, url := range []string{clusterURL, endpointURL} {
		for _, name := range numbered("member-%d", members) {
			tx.Put(put(url, name, "1"))
		}
	}
	for name, test := range map[string]struct {
		delta    bool
		requests []proto.Message
	}{
		"in one request":               {true, []proto.Message{deltaOf([]string{"*", "*", "*", "*", "*", "*"}, nil)}},
		"in several requests":          {true, []proto.Message{deltaOf([]string{"*"}, nil), deltaOf([]string{"*"}, nil), deltaOf([]string{"*"}, nil)}},
		"state of the world, repeated": {false, []proto.Message{endpointsOf("*"), endpointsOf("*"), endpointsOf("*"), endpointsOf("*")}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			commit(t, m, tx)
			st, err := c.Open(test.delta)
			if err != nil {
				t.Fatal(err)
			}
			send := func() (parts int) {
				c.between = func() { parts++ }
				for _, r := range test.requests {
					if err := st.Request(encoded(t, r)); err != nil {
						t.Fatal(err)
					}
				}
				c.between = func() {}
				synctest.Wait()
				return parts
			}
			send() // subscribes
			received(t, st)
			c.part = 4
			for round := range 2 {
				parts := send()
				if most := members/c.part + 1; parts == 0 || parts > most {
					t.Errorf("%s, round %d: %d parts, want at most %d", name, round, parts, most)
				}
				if got := received(t, st); got != members {
					t.Errorf("%s, round %d: the client receives %d resources again, want %d", name, round, got, members)
				}
			}
		})
	}
}

// received reads all responses, and returns the number of their resources.
func received(t *testing.T, st *Stream) (n int) {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		pieces, err := st.Next(ended)
		if err != nil {
			return n
		}
		r := new(discoveryv3.DiscoveryResponse) // the resources of both variants have the same number
		if err := proto.Unmarshal(slices.Concat(pieces...), r); err != nil {
			t.Fatal(err)
		}
		n += len(r.GetResources())
	}
}

// A subscription to a collection that another client leaves does not keep a third one waiting.
func TestSubscriptionToALeftCollectionInParts(t *testing.T) {
	const members, part = 400, 10
	for _, closes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			c.part = part
			tx := new(source.Tx)
			for _, name := range numbered("member-%d", members) {
				tx.Put(put(clusterURL, name, "1"))
			}
			commit(t, m, tx)
			leaves, comes, victim := newNaive(t, c, true), newNaive(t, c, true), newNaive(t, c, true)
			leaves.change(clusterURL, []string{"*"}, nil)
			victim.change(endpointURL, []string{"a"}, nil)
			synctest.Wait()
			leaves.read()
			victim.read()
			parts, got := 0, false
			c.between = func() {
				parts++
				switch parts {
				case 1:
					comes.change(clusterURL, []string{"*"}, nil)
				case 5:
					commit(t, m, new(source.Tx).Put(put(endpointURL, "a", "1")))
					got = victim.next("") && victim.of(endpointURL).has["a"] == "a=1"
				}
			}
			if closes {
				leaves.stream.Close(context.Canceled)
			} else {
				leaves.change(clusterURL, nil, []string{"*"})
			}
			c.between = func() {}
			synctest.Wait()
			comes.read()
			if want := members/part - 2; parts < want || !got {
				t.Errorf("closes=%t: the members are dropped in %d parts, want %d; the third client receives its change meanwhile: %t", closes, parts, want, got)
			}
			commit(t, m, new(source.Tx).Put(put(clusterURL, "member-7", "2")))
			comes.read()
			if has := comes.of(clusterURL).has; len(has) != members || has["member-7"] != "member-7=2" {
				t.Errorf("closes=%t: the new client has %d resources and %q, want %d and the newest", closes, len(has), has["member-7"], members)
			}
		})
	}
}

// An error for a name that many streams subscribe to counts as many parts.
func TestFailuresOfManyStreamsInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down scripted
		_, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
		const names, streams, part = 6, 8, 4
		var parts atomic.Int32
		c.part = part
		var last *naive
		for range streams {
			last = newNaive(t, c, true)
			last.change(clusterURL, numbered(downName+"%d", names), nil)
		}
		c.mu.Lock() // the timer reads it
		c.between = func() { parts.Add(1) }
		c.mu.Unlock()
		pass(10 * time.Second)
		if got := int(parts.Load()); got < names {
			t.Errorf("errors for %d names of %d streams are made in %d parts, want at least %d", names, streams, got, names)
		}
		last.read()
		if got := len(last.of(clusterURL).errors); got != names {
			t.Errorf("the client has %d errors, want %d", got, names)
		}
	})
}

// A collection counts its members with a resource, whatever happens to them.
func TestLiveMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n, other := newNaive(t, c, true), newNaive(t, c, true)
		check := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			n.read()
			other.read()
			for _, l := range c.types[clusterURL].collections {
				live := 0
				for _, e := range l.members {
					if e.content != nil {
						live++
					}
				}
				if l.live != live || live != want {
					t.Errorf("after %s, %s counts %d of %d members with a resource, want %d", what, l.name, l.live, live, want)
				}
			}
		}
		a := put(clusterURL, "a", "1")
		a.Aliases = []string{"alias"}
		n.change(clusterURL, []string{"alias", "missing", "b"}, nil)
		check("subscriptions", 0)
		commit(t, m, new(source.Tx).Put(a).Put(put(clusterURL, "b", "1")).Put(put(clusterURL, "c", "1")))
		check("a commit", 3) // with the alias
		commit(t, m, new(source.Tx).Put(put(clusterURL, "b", "2")))
		check("a change", 3)
		other.change(clusterURL, []string{"*"}, nil)
		check("the wildcard", 4)
		commit(t, m, new(source.Tx).Delete(key(clusterURL, "b")).Delete(key(clusterURL, "a")))
		check("deletions", 1)
		other.change(clusterURL, nil, []string{"*"})
		check("the end of the wildcard", 0)
	})
}

// endpointsOf is a first request, or one that repeats the names and acknowledges nothing.
func endpointsOf(names ...string) proto.Message {
	r := wholeOf(names)
	r.TypeUrl = endpointURL
	return r
}

// A glob without members is answered, although others ask for many names in it.
func TestEmptyGlobBesideMissingNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newCore(t, Config{})
		other, n := newNaive(t, c, true), newNaive(t, c, true)
		other.change(clusterURL, numbered(glob+"%d", 10), nil)
		n.change(clusterURL, []string{glob + "*"}, nil)
		synctest.Wait()
		n.read()
		if !n.of(clusterURL).gone[glob+"*"] {
			t.Error("the client was not told that the glob is empty")
		}
	})
}
