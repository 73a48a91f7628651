package adsserver

import (
	"testing"
	"testing/synctest"

	"github.com/xdsforge/xdsforge/framework/source"
)

// aliased returns a cluster with aliases.
func aliased(name, value string, aliases ...string) source.Resource {
	r := put(clusterURL, name, value)
	r.Aliases = aliases
	return r
}

// An alias that one transaction moves to another resource still has a resource, whichever of both comes first.
func TestAliasMoves(t *testing.T) {
	for _, from := range []string{"a", "b"} {
		synctest.Test(t, func(t *testing.T) {
			to := map[string]string{"a": "b", "b": "a"}[from]
			m, c := newCore(t, Config{})
			n := newNaive(t, c, true)
			n.change(clusterURL, []string{"x"}, nil)
			commit(t, m, new(source.Tx).Put(aliased(from, "1", "x")).Put(aliased(to, "1")))
			n.read()
			commit(t, m, new(source.Tx).Put(aliased(from, "2")).Put(aliased(to, "2", "x")))
			n.read()
			y := n.of(clusterURL)
			if y.gone["x"] || y.has[to] != to+"=2" {
				t.Errorf("after x has moved from %s to %s, the client has %v, and was told that %v are gone", from, to, y.has, y.gone)
			}
		})
	}
}

// A name whose error ends becomes an alias in the same change.
func TestErrorBecomesAnAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"x"}, nil)
		commit(t, m, new(source.Tx).Put(aliased("x", "1")))
		n.read()
		commit(t, m, new(source.Tx).Delete(key(clusterURL, "x")).Put(aliased("a", "1", "x")))
		n.read()
		if y := n.of(clusterURL); y.gone["x"] || y.has["a"] != "a=1" {
			t.Errorf("the client has %v, and was told that %v are gone; want a by its alias x", y.has, y.gone)
		}
	})
}

// A client that has a resource by two aliases is not told that it is gone when one of them ends.
func TestOneOfTwoAliasesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"x", "y"}, nil)
		commit(t, m, new(source.Tx).Put(aliased("b", "1", "x")))
		n.read()
		commit(t, m, new(source.Tx).Put(aliased("b", "2", "y")))
		n.read()
		if y := n.of(clusterURL); y.gone["b"] || !y.gone["x"] || y.has["b"] != "b=2" {
			t.Errorf("the client has %v, and was told that %v are gone; want b=2, and x", y.has, y.gone)
		}
	})
}

// A client that asks for a name again receives its resource, although it has the resource of an earlier stream.
func TestInsistingClientIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		commit(t, m, new(source.Tx).Put(put(endpointURL, "a", "1")))
		n := newNaive(t, c, true)
		n.change(endpointURL, []string{"a"}, nil)
		synctest.Wait()
		n.read()
		n.connect()
		n.change(endpointURL, []string{"a"}, nil)
		synctest.Wait()
		if list := n.read(); len(list) != 1 {
			t.Errorf("the client receives %q, want one response", list)
		}
	})
}

// A source that has not answered for a collection does not report the removal of a member whose name nobody wants. When it
// answers, the member is gone.
func TestMemberThatVanishedBeforeTheAnswer(t *testing.T) {
	var s scripted
	c, err := New(Config{Source: &s})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	byName, all := newNaive(t, c, true), newNaive(t, c, true)
	byName.change(clusterURL, []string{"a"}, nil)
	a := put(clusterURL, "a", "1")
	a.Version = "1"
	s.apply(t, source.Change{Revision: 1, Put: []source.Resource{a}, Complete: []source.Interest{{Type: clusterURL, Name: "a"}}})
	all.change(clusterURL, []string{source.Wildcard}, nil)
	all.read()
	byName.change(clusterURL, nil, []string{"a"})
	s.apply(t, source.Change{Revision: 1, Complete: []source.Interest{{Type: clusterURL, Name: source.Wildcard}}})
	all.read()
	if y := all.of(clusterURL); len(y.has) > 0 || !y.gone["a"] {
		t.Errorf("the client has %v, and was told that %v are gone; want nothing, and a", y.has, y.gone)
	}
}

// An alias ends while its client subscribes to the resource by its name. Only the answer of the source tells whether that exists.
func TestAliasEndsBeforeTheAnswerForTheName(t *testing.T) {
	var s scripted
	c, err := New(Config{Source: &s})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n := newNaive(t, c, true)
	n.change(clusterURL, []string{"x"}, nil)
	s.apply(t, source.Change{Revision: 1, Put: []source.Resource{aliased("b", "1", "x")}, Complete: []source.Interest{{Type: clusterURL, Name: "x"}}})
	n.read()
	s.apply(t, source.Change{Revision: 2, Delete: []source.Key{{Type: clusterURL, Name: "b"}}}) // nobody wants it by its name
	n.change(clusterURL, []string{"b"}, nil)
	n.read()
	if y := n.of(clusterURL); y.gone["b"] || !y.gone["x"] {
		t.Errorf("the client was told that %v are gone, want x", y.gone)
	}
	s.apply(t, source.Change{Revision: 3, Put: []source.Resource{put(clusterURL, "b", "1")}, Complete: []source.Interest{{Type: clusterURL, Name: "b"}}})
	n.read()
	if y := n.of(clusterURL); y.has["b"] != "b=1" {
		t.Errorf("the client has %v, want b=1", y.has)
	}
}
