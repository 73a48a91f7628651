package etcdtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/internal/netproxy"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// A reader whose node is frozen or killed continues at another node, without a gap.
func TestReaderLeavesALostNode(t *testing.T) {
	c := startCluster(t, etcdtest.Options{Nodes: 3})
	s := store(t, etcd.Options{Endpoints: c.Endpoints()})
	r := open(t, s)
	r.untilKind(t, source.Live)
	put(t, s, "a", "before")
	r.untilBody(t, key("a"), "before")
	for _, x := range []struct {
		name string
		lose func(i int) error
	}{{"frozen", c.Freeze}, {"killed", c.Kill}} {
		used := slices.Index(c.Endpoints(), s.Status().Endpoint)
		if err := x.lose(used); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		put(t, s, "a", x.name)
		acknowledged := time.Since(start)
		r.untilBody(t, key("a"), x.name)
		t.Logf("%s node: the reader has the next commit after %v, and the writer after %v", x.name, time.Since(start), acknowledged)
		if now := s.Status().Endpoint; now == c.Endpoints()[used] {
			t.Errorf("%s node: the store uses it still", x.name)
		}
		if x.name == "frozen" {
			if err := c.Thaw(used); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := s.Status().Lists; n != 1 {
		t.Errorf("the store has read all resources %d times; want once", n)
	}
}

// Without a majority, a new process reads the resources of the last node, and reports them as stale.
func TestStartWithoutMajority(t *testing.T) {
	c := startCluster(t, etcdtest.Options{Nodes: 3})
	s := store(t, etcd.Options{Endpoints: c.Endpoints()})
	put(t, s, "a", "1")
	running := open(t, s)
	running.untilBody(t, key("a"), "1")
	for i := range 2 {
		if err := c.Kill(i); err != nil {
			t.Fatal(err)
		}
	}
	late := open(t, store(t, etcd.Options{Endpoints: c.Endpoints()}))
	late.untilBody(t, key("a"), "1")
	late.untilKind(t, source.Stale)
	running.untilKind(t, source.Stale)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.Commit(ctx, new(source.Tx).Put(value("a", "2"))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("commit without a majority: %v; want the error of the context", err)
	}
	for i := range 2 {
		if _, err := c.Restart(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, "b", "3")
	late.untilBody(t, key("b"), "3")
	late.untilKind(t, source.Live)
	running.untilBody(t, key("b"), "3")
	running.untilKind(t, source.Live)
}

// A store without any node is down.
func TestStartWithoutNodes(t *testing.T) {
	r := open(t, store(t, etcd.Options{Endpoints: []string{"127.0.0.1:1"}, Timeout: 50 * time.Millisecond}))
	r.untilKind(t, source.Down)
}

// A reader that was cut off for longer than etcd keeps revisions reads everything again, and applies the differences.
func TestCompaction(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	p, err := netproxy.Start(c.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s, writer := store(t, etcd.Options{Endpoints: []string{p.Addr()}}), store(t, etcd.Options{Endpoints: c.Endpoints()})
	for _, name := range []string{"a", "b", "c"} {
		put(t, writer, name, "1")
	}
	r := open(t, s)
	r.until(t, "three resources", func() bool { return len(r.has) == 3 })
	p.Refuse()
	p.Disconnect()
	r.untilKind(t, source.Stale)
	put(t, writer, "a", "2")
	commit(t, writer, new(source.Tx).Delete(key("b")))
	last := put(t, writer, "d", "1")
	if _, err := client(t, c).Compact(t.Context(), int64(last)); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	before := r.changes
	r.mu.Unlock()
	p.Accept()
	r.untilBody(t, key("d"), "1")
	r.untilKind(t, source.Live)
	if has := r.resources(); len(has) != 3 || string(has[key("a")].Body) != "2" || r.changes != before+1 {
		t.Errorf("after %d changes: %v; want a = 2, c and d after one change", r.changes-before, has)
	}
	if n := s.Status().Lists; n != 2 {
		t.Errorf("the store has read all resources %d times; want twice", n)
	}
}

// The resources of a wiped store are kept until somebody commits to it.
func TestWipedStore(t *testing.T) {
	dir := t.TempDir()
	c, err := etcdtest.Start(t.Context(), dir, etcdtest.Options{Binary: *binary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s := store(t, etcd.Options{Endpoints: c.Endpoints()})
	put(t, s, "a", "1")
	put(t, s, "b", "1")
	r := open(t, s)
	r.until(t, "two resources", func() bool { return len(r.has) == 2 })
	first := s.Status().Epoch
	if err := errors.Join(c.Kill(0), os.RemoveAll(filepath.Join(dir, "node0"))); err != nil {
		t.Fatal(err)
	}
	wait, err := c.Restart(t.Context(), 0)
	if err == nil {
		err = wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.until(t, "the reason that the store is empty", func() bool {
		return r.state.Kind == source.Stale && strings.Contains(r.state.Err.Error(), "the store is empty")
	})
	if n := len(r.resources()); n != 2 {
		t.Fatalf("resources = %d; want both", n)
	}
	put(t, store(t, etcd.Options{Endpoints: c.Endpoints()}), "b", "2")
	r.until(t, "one resource", func() bool { return len(r.has) == 1 && string(r.has[key("b")].Body) == "2" })
	r.untilKind(t, source.Live)
	if now := s.Status().Epoch; now == first || now == "" {
		t.Errorf("epoch = %q after %q; want another", now, first)
	}
}

// A commit whose tries were not answered happens once if it is acknowledged, and at most once otherwise. The proxy
// forwards requests and no responses.
func TestUnknownOutcome(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	p, err := netproxy.Start(c.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s := store(t, etcd.Options{Endpoints: []string{p.Addr()}, Timeout: 100 * time.Millisecond})
	other := store(t, etcd.Options{Endpoints: c.Endpoints()})
	put(t, s, "a", "1")
	p.Stall(netproxy.Down)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Commit(ctx, new(source.Tx).Put(value("lost", "1"))); !errors.Is(err, etcd.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("commit without a response: %v; want an unknown outcome", err)
	}
	p.Resume(netproxy.Down)
	put(t, s, "b", "1")
	r := open(t, other)
	r.untilBody(t, key("b"), "1")
	for _, body := range []string{"2", "3"} { // for the second time, another commit is in between
		p.Stall(netproxy.Down)
		done := make(chan error)
		go func() {
			_, err := s.Commit(t.Context(), new(source.Tx).Put(value("b", body)).Put(value(body, "")))
			done <- err
		}()
		r.untilBody(t, key("b"), body) // it happened, and the publisher does not know
		if body == "3" {
			put(t, other, "b", "4")
		}
		<-time.NewTimer(500 * time.Millisecond).C // the deadline of the first try, 100 ms, passes
		p.Resume(netproxy.Down)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	commits, err := other.History(t.Context(), 100)
	if err != nil || len(commits) != 6 {
		t.Errorf("history = %d commits, %v; want a, lost, three of b by the first store and one by the other: %v", len(commits), err, commits)
	}
	if got, _, err := other.Lookup(t.Context(), key("b")); err != nil || string(got.Body) != "4" {
		t.Errorf("b = %q, %v; want the content of the last commit", got.Body, err)
	}
}

// A publisher that may not write resources stops after the commit of a large transaction, as one that is killed
// there. Readers see the transaction, and the next publisher completes it.
func TestInterruptedLargeTransaction(t *testing.T) {
	const n = 300
	c := startCluster(t, etcdtest.Options{})
	cl := client(t, c)
	auth(t, cl)
	o := etcd.Options{Endpoints: c.Endpoints(), Username: "interrupted", Password: "p", TxnOperations: 50}
	s := store(t, o)
	tx := new(source.Tx)
	for i := range n {
		tx.Put(value(fmt.Sprintf("r%d", i), "1"))
	}
	revision := commit(t, s, tx)
	o.Username = "reader"
	readOnly := store(t, o)
	r := open(t, readOnly)
	r.until(t, "all resources", func() bool { return len(r.has) == n })
	if _, got, err := readOnly.Lookup(t.Context(), key("r7")); err != nil || got != revision {
		t.Errorf("lookup = %d, %v; want revision %d", got, err, revision)
	}
	if _, err := readOnly.Commit(t.Context(), new(source.Tx).Put(value("x", "1"))); err == nil || !strings.Contains(err.Error(), "needs a role") {
		t.Errorf("commit of a reader: %v; want the advice about the role", err)
	}
	o.Username = "root"
	next := commit(t, store(t, o), new(source.Tx).If(key("r7"), revision).Put(value("r7", "2")))
	r.untilBody(t, key("r7"), "2")
	if has := r.resources(); len(has) != n || next <= revision {
		t.Errorf("resources = %d at revision %d; want %d after %d", len(has), next, n, revision)
	}
}

// auth turns authentication on: root, a reader, and a user who may not write resources.
func auth(t *testing.T, cl *clientv3.Client) {
	t.Helper()
	ctx, root := t.Context(), "/xds/default/"
	var errs []error
	check := func(_ any, err error) { errs = append(errs, err) }
	check(cl.RoleAdd(ctx, "read"))
	check(cl.RoleGrantPermission(ctx, "read", root, clientv3.GetPrefixRangeEnd(root), clientv3.PermissionType(clientv3.PermRead)))
	check(cl.RoleAdd(ctx, "write"))
	for _, prefix := range []string{root + "m/", root + "b/"} {
		check(cl.RoleGrantPermission(ctx, "write", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite)))
	}
	for user, roles := range map[string][]string{"root": {"root"}, "reader": {"read"}, "interrupted": {"read", "write"}} {
		check(cl.UserAdd(ctx, user, "p"))
		for _, role := range roles {
			check(cl.UserGrantRole(ctx, user, role))
		}
	}
	check(cl.AuthEnable(ctx))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// The limits of the nodes lead to errors with advice.
func TestLimitsOfNodes(t *testing.T) {
	c := startCluster(t, etcdtest.Options{DefaultLimits: true, Quota: 16 << 20})
	s := store(t, etcd.Options{Endpoints: c.Endpoints()})
	many := new(source.Tx)
	for i := range 200 {
		many.Put(value(fmt.Sprintf("r%d", i), "1"))
	}
	full := func() error {
		for i := range 100 {
			if _, err := s.Commit(t.Context(), new(source.Tx).Put(value("a", strings.Repeat("x", 1<<20)+fmt.Sprint(i)))); err != nil {
				return err
			}
		}
		return nil
	}
	for _, x := range []struct {
		want string
		f    func() error
	}{
		{"--max-txn-ops", func() error { _, err := s.Commit(t.Context(), many); return err }},
		{"--max-request-bytes", func() error {
			_, err := s.Commit(t.Context(), new(source.Tx).Put(value("a", strings.Repeat("x", 2<<20))))
			return err
		}},
		{"--quota-backend-bytes", full},
	} {
		if err := x.f(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error = %v; want the advice %s", err, x.want)
		}
	}
	small := store(t, etcd.Options{Endpoints: c.Endpoints(), MaxResources: 10})
	if _, err := small.State(t.Context(), 0); err != nil {
		t.Errorf("state within the limits: %v", err)
	}
}
