package etcdtest_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/store/etcd"
)

const typeURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

func key(name string) source.Key { return source.Key{Type: typeURL, Name: name} }

func value(name, body string) source.Resource {
	return source.Resource{Key: key(name), Body: []byte(body)}
}

var binary = flag.String("etcd", "", "path of an etcd to test with instead of the one that the tests link")

// startCluster starts a cluster that ends with the test.
func startCluster(t *testing.T, o etcdtest.Options) *etcdtest.Cluster {
	t.Helper()
	o.Binary = *binary
	c, err := etcdtest.Start(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func client(t *testing.T, c *etcdtest.Cluster) *clientv3.Client {
	t.Helper()
	cl, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close() })
	return cl
}

// store opens a store that closes with the test.
func store(t *testing.T, o etcd.Options) *etcd.Store {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := etcd.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func commit(t *testing.T, s *etcd.Store, tx *source.Tx) source.Revision {
	t.Helper()
	r, err := s.Commit(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func put(t *testing.T, s *etcd.Store, name, body string) source.Revision {
	t.Helper()
	return commit(t, s, new(source.Tx).Put(value(name, body)))
}

func TestReadersReceiveCommits(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	s := store(t, etcd.Options{Endpoints: c.Endpoints()})
	r := open(t, s)
	r.untilKind(t, source.Live)
	put(t, s, "a", "1")
	r.untilBody(t, key("a"), "1")
	x := value("xdstp://authority/envoy.config.cluster.v3.Cluster/b/c", "2")
	x.Aliases, x.TTL, x.Expires = []string{"xdstp://authority/envoy.config.cluster.v3.Cluster/b/alias"}, time.Minute, time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
	commit(t, s, new(source.Tx).Delete(key("a")).Put(x).Put(value("d", "3")))
	r.untilBody(t, x.Key, "2")
	has := r.resources()
	if _, exists := has[key("a")]; exists || len(has) != 2 {
		t.Errorf("resources = %v; want two, without the deleted one", has)
	}
	if got := has[x.Key]; got.TTL != x.TTL || !got.Expires.Equal(x.Expires) || len(got.Aliases) != 1 {
		t.Errorf("resource = %+v; want %+v", got, x)
	}
	if x.Version = source.Version(&x); !source.SameVersion(has[x.Key].Version, x.Version) {
		t.Errorf("version = %q; want the digest %q", has[x.Key].Version, x.Version)
	}
	if st := s.Status(); st.Invalid != 0 || st.Lists != 1 || st.Resources != 2 {
		t.Errorf("status = %+v; want one list and two resources", st)
	}
}

// A resource that expires has a lease, and a key without expiry has none.
func TestExpiringResourcesHaveALease(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	s := store(t, etcd.Options{Endpoints: c.Endpoints()})
	x := value("a", "1")
	x.Expires = time.Now().Add(time.Hour)
	commit(t, s, new(source.Tx).Put(x).Put(value("b", "2")))
	cl := client(t, c)
	for name, want := range map[string]bool{"a": true, "b": false} {
		got, err := cl.Get(t.Context(), "/xds/default/r/"+typeURL+"/"+name)
		if err != nil || len(got.Kvs) != 1 {
			t.Fatalf("get %s = %v, %v; want one key", name, got, err)
		}
		if has := got.Kvs[0].Lease != 0; has != want {
			t.Errorf("%s has a lease: %v; want %v", name, has, want)
		}
	}
}

func TestConditions(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	s := store(t, etcd.Options{Endpoints: c.Endpoints()})
	other := store(t, etcd.Options{Endpoints: c.Endpoints()})
	first := put(t, s, "a", "1")
	second := put(t, other, "b", "1")
	if second <= first {
		t.Errorf("revision %d after %d; must grow", second, first)
	}
	for _, x := range []struct {
		name string
		tx   *source.Tx
		want error
	}{
		{"the revision of a resource", new(source.Tx).If(key("a"), first), nil},
		{"another revision", new(source.Tx).If(key("b"), first), source.ErrConflict},
		{"absence", new(source.Tx).If(key("c"), 0), nil},
		{"absence of a resource that exists", new(source.Tx).If(key("a"), 0), source.ErrConflict},
		{"an old revision of the store", new(source.Tx).IfUnchanged(first), source.ErrConflict},
	} {
		if _, err := s.Commit(t.Context(), x.tx.Put(value("d", x.name))); !errors.Is(err, x.want) {
			t.Errorf("%s: error = %v; want %v", x.name, err, x.want)
		}
	}
	last := put(t, other, "e", "1")
	if _, err := s.Commit(t.Context(), new(source.Tx).IfUnchanged(last).Put(value("f", "1"))); err != nil {
		t.Errorf("the revision of the store: %v", err)
	}
	got, revision, err := s.Lookup(t.Context(), key("d"))
	if err != nil || string(got.Body) != "absence" || revision == 0 {
		t.Errorf("lookup = %q, %d, %v; want the last commit without a conflict", got.Body, revision, err)
	}
	if _, revision, err = s.Lookup(t.Context(), key("x")); err != nil || revision != 0 {
		t.Errorf("lookup of an absent resource = %d, %v; want 0", revision, err)
	}
}

// Writers of several processes increment a counter. No increment is lost.
func TestConcurrentWriters(t *testing.T) {
	const writers, each = 4, 10
	c := startCluster(t, etcdtest.Options{})
	results := make(chan error)
	for range writers {
		s := store(t, etcd.Options{Endpoints: c.Endpoints()})
		go func() {
			results <- func() error {
				for n := 0; n < each; {
					got, revision, err := s.Lookup(t.Context(), key("counter"))
					if err != nil {
						return err
					}
					next := value("counter", string(got.Body)+"x")
					switch _, err = s.Commit(t.Context(), new(source.Tx).If(next.Key, revision).Put(next)); {
					case err == nil:
						n++
					case !errors.Is(err, source.ErrConflict):
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range writers {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	s := store(t, etcd.Options{Endpoints: c.Endpoints()})
	if got, _, err := s.Lookup(t.Context(), key("counter")); err != nil || len(got.Body) != writers*each {
		t.Errorf("counter = %d, %v; want %d", len(got.Body), err, writers*each)
	}
}

// A large transaction is visible as a whole, in one change, and has one revision.
func TestLargeTransactions(t *testing.T) {
	const n = 2_500
	c := startCluster(t, etcdtest.Options{})
	s := store(t, etcd.Options{Endpoints: c.Endpoints(), TxnOperations: 100, TxnBytes: 16 << 10})
	r := open(t, s)
	r.untilKind(t, source.Live)
	put(t, s, "r0", "old")
	r.untilBody(t, key("r0"), "old")
	for round := range 3 {
		tx := new(source.Tx)
		for i := range n {
			if i%10 == round {
				tx.Delete(key(fmt.Sprintf("r%d", i)))
			} else {
				tx.Put(value(fmt.Sprintf("r%d", i), fmt.Sprintf("%d %s", round, strings.Repeat("x", 30))))
			}
		}
		r.mu.Lock()
		before := r.changes
		r.mu.Unlock()
		revision := commit(t, s, tx)
		r.until(t, "all resources", func() bool { return r.changes > before })
		if st := r.resources(); len(st) != n*9/10 {
			t.Fatalf("round %d: the reader has %d resources after one change; want %d", round, len(st), n*9/10)
		}
		if _, got, err := s.Lookup(t.Context(), key("r9")); err != nil || got != revision {
			t.Errorf("round %d: revision of a resource = %d, %v; want that of the commit, %d", round, got, err, revision)
		}
		if _, err := s.Commit(t.Context(), new(source.Tx).If(key("r9"), revision).IfUnchanged(revision).Put(value("extra", "1"))); err != nil {
			t.Errorf("round %d: a condition on the commit: %v", round, err)
		}
		commit(t, s, new(source.Tx).Delete(key("extra")))
		r.until(t, "no extra resource", func() bool { _, exists := r.has[key("extra")]; return !exists && len(r.has) == n*9/10 })
	}
	left, err := client(t, c).Get(t.Context(), "/xds/default/b/", clientv3.WithPrefix())
	if err != nil || len(left.Kvs) != 0 {
		t.Errorf("chunks left = %d, %v; want none", len(left.Kvs), err)
	}
	late := open(t, store(t, etcd.Options{Endpoints: c.Endpoints()}))
	late.until(t, "all resources", func() bool { return len(late.has) == n*9/10 })
	for k, x := range r.resources() {
		if got := late.resources()[k]; got.Version != x.Version {
			t.Fatalf("version of %s = %q in a later process, %q in the first; must be equal", k, got.Version, x.Version)
		}
	}
}
