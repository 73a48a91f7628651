package adsserver

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// at returns a resource of a store that counts revisions.
func at(name, value string, revision source.Revision) source.Resource {
	r := put(clusterURL, name, value)
	r.Version = fmt.Sprintf("%s-%s", formatRevision(revision), source.Version(&r))
	return r
}

func formatRevision(r source.Revision) string { return fmt.Sprintf("%c", rune('a'+r-10)) } // 10 to 35

func commitAt(t *testing.T, m *source.Memory, revision source.Revision, list ...source.Resource) {
	t.Helper()
	tx := new(source.Tx)
	for _, r := range list {
		tx.Put(r)
	}
	if err := m.CommitAt(t.Context(), tx, "epoch", revision); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// move has a client that knows revision 20 of a store move to a server that knows revision 10 only. It returns
// the client and the store of the second server.
func move(t *testing.T, delta bool) (*naive, *source.Memory) {
	t.Helper()
	ahead, first := newCore(t, Config{})
	lags, second := newCore(t, Config{})
	commitAt(t, ahead, 20, at("a", "new", 20), at("b", "old", 10))
	commitAt(t, lags, 10, at("a", "old", 10), at("b", "old", 10))
	n := newNaive(t, first, delta)
	n.change(clusterURL, []string{"a", "b"}, nil)
	synctest.Wait()
	n.read()
	if got := n.of(clusterURL).has["a"]; got != "a=new" {
		t.Fatalf("the client has %q at the first server, want a=new", got)
	}
	n.core = second
	n.connect()
	synctest.Wait()
	return n, lags
}

// A client that moves to a server that lags does not get older resources: the server waits for the revision.
func TestWaitForRevision(t *testing.T) {
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n, store := move(t, delta)
			if got := n.read(); len(got) > 0 {
				t.Errorf("delta %t: the server that lags answers %q at once", delta, got)
			}
			commitAt(t, store, 19, at("b", "older", 19))
			pass(time.Second)
			if got := n.read(); len(got) > 0 {
				t.Errorf("delta %t: the server answers %q at revision 19", delta, got)
			}
			commitAt(t, store, 20, at("a", "new", 20), at("b", "old", 20))
			pass(lagPause)
			got := n.read()
			if want := map[bool]int{false: 1, true: 0}[delta]; len(got) != want {
				t.Errorf("delta %t: the server answers %q with the same resources, want %d responses", delta, got, want)
			}
			if y := n.of(clusterURL); y.has["a"] != "a=new" || y.has["b"] != "b=old" {
				t.Errorf("delta %t: the client has %v, want a=new and b=old", delta, y.has)
			}
		})
	}
}

// The wait ends when the store has the revision, even if no subscribed resource changes with it.
func TestWaitEndsWithOtherResources(t *testing.T) {
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n, store := move(t, delta)
			commitAt(t, store, 21, at("unrelated", "x", 21))
			pass(lagPause)
			n.read()
			if n.of(clusterURL).has["a"] != "a=old" {
				t.Errorf("delta %t: the client has %v, want the resource of the store", delta, n.of(clusterURL).has)
			}
		})
	}
}

// A server whose store never has the revision answers after a limit.
func TestWaitIsBounded(t *testing.T) {
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n, _ := move(t, delta)
			start, answered := time.Now(), make(chan time.Duration)
			go func() {
				if _, err := n.stream.Next(t.Context()); err != nil {
					t.Error(err)
				}
				answered <- time.Since(start)
			}()
			if d := <-answered; d != lagLimit {
				t.Errorf("delta %t: the server answers after %v, want %v", delta, d, lagLimit)
			}
		})
	}
}

// The revisions of another epoch, and of a source that does not count them, do not make a stream wait.
func TestNoWaitForOtherEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, first := newCore(t, Config{})
		m, second := newCore(t, Config{})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		n := newNaive(t, first, false)
		n.change(clusterURL, []string{"a"}, nil)
		synctest.Wait()
		n.read()
		n.of(clusterURL).whole = "other-zzz"
		n.core = second
		n.connect()
		synctest.Wait()
		n.read()
		if n.of(clusterURL).has["a"] != "a=1" {
			t.Errorf("the client has %v, want a=1 at once", n.of(clusterURL).has)
		}
	})
}

// A stream waits for each of its sources, in any order, and keeps one revision for each.
func TestWaitForTwoSources(t *testing.T) {
	for _, mainFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			other := source.NewMemory()
			m, c := newCore(t, Config{Authorities: map[string]source.Source{"stale": other}})
			commitAt(t, m, 10, at("a", "old", 10), at("b", "old", 10))
			commitAt(t, other, 10, at(staleName, "old", 10))
			n := newNaive(t, c, true)
			for _, r := range []source.Resource{at("a", "new", 15), at("b", "new", 20), at(staleName, "new", 20)} {
				n.of(clusterURL).version[r.Name] = r.Version
			}
			n.change(clusterURL, []string{"a", "b", staleName}, nil)
			if got := len(n.stream.behind.marks); got != 2 {
				t.Errorf("the stream waits for %d revisions, want one of each source", got)
			}
			commits := []func(){
				func() { commitAt(t, other, 21, at(staleName, "newest", 21)) },
				func() { commitAt(t, m, 21, at("a", "newest", 21)) },
			}
			if mainFirst {
				slices.Reverse(commits)
			}
			commits[0]()
			pass(lagPause)
			if got := n.read(); len(got) > 0 {
				t.Errorf("main source first %t: the server answers %q while the other source lags", mainFirst, got)
			}
			commits[1]()
			pass(lagPause)
			n.read()
			if y := n.of(clusterURL); y.has["a"] != "a=newest" || y.has[staleName] != staleName+"=newest" {
				t.Errorf("main source first %t: the client has %v, want the newest resources of both", mainFirst, y.has)
			}
		})
	}
}

// A stream whose client knows revisions of two epochs waits for that of the epoch that the source has.
func TestWaitForTwoEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s scripted
		c, err := New(Config{Source: &s})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n := newNaive(t, c, false)
		n.of(clusterURL).whole, n.of(endpointURL).whole = "first-"+formatRevision(30), "second-"+formatRevision(20)
		n.change(clusterURL, []string{"a"}, nil)
		n.change(endpointURL, []string{"a"}, nil)
		for _, revision := range []source.Revision{19, 20} {
			r := at("a", "new", revision)
			change := source.Change{
				Epoch: "second", Revision: uint64(revision), Put: []source.Resource{r},
				Complete: []source.Interest{{Type: clusterURL, Name: "a"}},
			}
			if err := s.sink.Apply(change); err != nil {
				t.Fatal(err)
			}
			pass(lagPause)
			if got := n.read(); (len(got) > 0) != (revision == 20) {
				t.Errorf("at revision %d of the epoch, the server answers %q; want an answer from 20 on", revision, got)
			}
		}
	})
}
