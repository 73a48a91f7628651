package etcdtest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/store/etcd"
)

func TestHistoryAndRollback(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	s := store(t, etcd.Options{Endpoints: c.Endpoints(), Author: "ann"})
	put(t, s, "a", "1")
	good := commit(t, s, new(source.Tx).Put(value("b", "1")).Put(value("c", "1")))
	bad := commit(t, s, new(source.Tx).Put(value("a", "2")).Delete(key("b")).Put(value("d", "1")))
	commits, err := s.History(t.Context(), 2)
	if err != nil || len(commits) != 2 {
		t.Fatalf("history = %v, %v; want two commits", commits, err)
	}
	if x := commits[0]; x.Revision != bad || x.Puts != 2 || x.Deletes != 1 || x.Author != "ann" || x.First != `"envoy.config.cluster.v3.Cluster" "a"` {
		t.Errorf("last commit = %+v", x)
	}
	if commits[1].Revision != good {
		t.Errorf("revision before = %d; want %d", commits[1].Revision, good)
	}
	tx, err := s.RollbackTx(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, tx)
	state, err := s.State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range state.Resources {
		got = append(got, x.Name+"="+string(x.Body))
	}
	if text := strings.Join(got, " "); text != "a=1 b=1 c=1" {
		t.Errorf("resources after the rollback: %s", text)
	}
	if _, err := s.Commit(t.Context(), tx); !errors.Is(err, source.ErrConflict) {
		t.Errorf("a second rollback by the same transaction: %v; want a conflict", err)
	}
	if _, err := client(t, c).Compact(t.Context(), int64(bad)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RollbackTx(t.Context(), good); err == nil || !strings.Contains(err.Error(), "--auto-compaction-retention") {
		t.Errorf("rollback to a compacted revision: %v; want the advice", err)
	}
	if commits, err := s.History(t.Context(), 100); err != nil || len(commits) != 2 {
		t.Errorf("history after the compaction = %v, %v; want the two newest commits", commits, err)
	}
}

// Tenants do not see each other, whatever their names are.
func TestTenants(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	names := []string{"a", "a/b", "a%2Fb", ""}
	for _, name := range names {
		put(t, store(t, etcd.Options{Endpoints: c.Endpoints(), Tenant: name}), "x", "of "+name)
	}
	for _, name := range names {
		s := store(t, etcd.Options{Endpoints: c.Endpoints(), Tenant: name})
		state, err := s.State(t.Context(), 0)
		if err != nil || len(state.Resources) != 1 || string(state.Resources[0].Body) != "of "+name {
			t.Errorf("tenant %q = %+v, %v; want its own resource", name, state, err)
		}
	}
}

// Processes that read at different times have equal digests. A value that is no resource is left out.
func TestDigests(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	first := store(t, etcd.Options{Endpoints: c.Endpoints()})
	r := open(t, first)
	r.untilKind(t, source.Live)
	put(t, first, "a", "1")
	put(t, first, "b", "1")
	r.untilBody(t, key("b"), "1")
	put(t, first, "a", "2")
	last := commit(t, first, new(source.Tx).Delete(key("b")))
	r.until(t, "one resource", func() bool { return len(r.has) == 1 })
	later := store(t, etcd.Options{Endpoints: c.Endpoints()})
	open(t, later).untilBody(t, key("a"), "2")
	a, b := first.Digest(), later.Digest()
	if a.Revision != int64(last) || b.Revision != int64(last) || !a.Equal(b) || a.Sums[typeURL] == 0 {
		t.Errorf("digests = %+v and %+v; want equal ones of revision %d", a, b, last)
	}
	b.Sums[typeURL]++
	if a.Equal(b) {
		t.Error("different sums are equal")
	}
	if _, err := client(t, c).Put(t.Context(), "/xds/default/r/"+typeURL+"/a", "no resource"); err != nil {
		t.Fatal(err)
	}
	put(t, first, "c", "1")
	r.untilBody(t, key("c"), "1")
	if got := r.resources()[key("a")]; string(got.Body) != "2" || first.Status().Invalid != 1 {
		t.Errorf("a = %q, %d invalid values; want the last valid content and one", got.Body, first.Status().Invalid)
	}
}
