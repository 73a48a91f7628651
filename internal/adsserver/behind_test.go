package adsserver

import (
	"fmt"
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
