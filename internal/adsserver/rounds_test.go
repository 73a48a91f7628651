package adsserver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A change after a pause is sent at once. Later ones wait for the next round, and are one response.
func TestCoalesce(t *testing.T) {
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{Coalesce: time.Second})
			n := newNaive(t, c, delta)
			n.change(clusterURL, []string{"a", "b"}, nil)
			synctest.Wait()
			n.read()
			put1 := func(name, value string) {
				commit(t, m, new(source.Tx).Put(put(clusterURL, name, value)))
			}
			has := func(want ...string) {
				t.Helper()
				responses := len(n.read())
				y := n.of(clusterURL)
				if got := []string{y.has["a"], y.has["b"]}; !slices.Equal(got, want) || responses > 1 {
					t.Errorf("delta %t: the client has %q after %d responses, want %q after at most one", delta, got, responses, want)
				}
			}
			put1("a", "1")
			has("a=1", "")
			pass(300 * time.Millisecond)
			put1("a", "2")
			has("a=1", "")
			pass(300 * time.Millisecond)
			put1("b", "1")
			has("a=1", "")
			pass(401 * time.Millisecond)
			has("a=2", "b=1")
			put1("a", "3")
			has("a=2", "b=1")
			pass(time.Minute)
			has("a=3", "b=1")
			put1("a", "4")
			has("a=4", "b=1")
		})
	}
}

// A round does not hold back the answer to a request.
func TestCoalesceAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{Coalesce: time.Minute})
		n, other := newNaive(t, c, true), newNaive(t, c, true)
		for _, x := range []*naive{n, other} {
			x.change(clusterURL, []string{"a"}, nil)
			synctest.Wait()
			x.read()
		}
		commit(t, m, new(source.Tx).Put(put(clusterURL, "b", "1")).Put(put(clusterURL, "a", "1")))
		n.read()
		other.read()
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
		n.change(clusterURL, []string{"b"}, nil)
		synctest.Wait()
		n.read()
		other.read()
		if y := n.of(clusterURL); y.has["b"] != "b=1" || y.has["a"] != "a=2" {
			t.Errorf("the client has %v after a new subscription, want a=2 and b=1", y.has)
		}
		if got := other.of(clusterURL).has["a"]; got != "a=1" {
			t.Errorf("the other client has %q within the round, want a=1", got)
		}
		pass(time.Minute)
		other.read()
		if got := other.of(clusterURL).has["a"]; got != "a=2" {
			t.Errorf("the other client has %q after the round, want a=2", got)
		}
	})
}

// A response that is divided is sent whole, though changes go on.
func TestCoalesceSendsAllParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{Coalesce: time.Second, Limits: Limits{ResponseBytes: 10}})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a", "b", "c"}, nil)
		synctest.Wait()
		n.read()
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "b", "1")).Put(put(clusterURL, "c", "1")))
		n.next("")
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
		n.read()
		if y := n.of(clusterURL); y.has["b"] != "b=1" || y.has["c"] != "c=1" {
			t.Errorf("the client has %v, want b and c of the first round", y.has)
		}
	})
}
