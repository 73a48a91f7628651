package etcdtest_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// bodies returns the contents of all resources by name.
func bodies(r *reader) map[string]string {
	out := make(map[string]string)
	for k, x := range r.has {
		out[k.Name] = string(x.Body)
	}
	return out
}

// untilBodies waits until the reader is live and has exactly these resources.
func (r *reader) untilBodies(t *testing.T, want map[string]string) {
	t.Helper()
	r.until(t, fmt.Sprint("exactly ", want, ", live"), func() bool {
		return r.state.Kind == source.Live && maps.Equal(bodies(r), want)
	})
}

// A store is restored from a backup, with the ID of its cluster. Readers return to the resources of the backup after one
// full read: also if other commits have the revisions that the readers know.
func TestRestoredStore(t *testing.T) {
	old := map[string]string{"a": "1", "b": "1"}
	later := map[string]string{"a": "1", "b": "1", "later": "9"}
	for _, x := range []struct {
		name   string
		bump   uint64
		hidden int           // commits that readers cannot see happen
		down   time.Duration // without any node
		want   map[string]string
	}{
		{name: "visible", want: old},
		{name: "visible after a long outage", down: 4 * time.Second, want: old},
		{name: "fewer commits", hidden: 1, want: later},
		{name: "as many commits", hidden: 3, want: later},
		{name: "more commits", hidden: 6, want: later},
		{name: "more commits after a long outage", hidden: 6, down: 4 * time.Second, want: later},
		{name: "with later revisions", bump: 1000, want: old},
		{name: "with later revisions and commits", bump: 1000, hidden: 1, want: later},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c, err := etcdtest.Start(t.Context(), t.TempDir(), etcdtest.Options{}) // -etcd may be too old for the backup
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			path := filepath.Join(t.TempDir(), "backup.db")
			publisher, server := store(t, etcd.Options{Endpoints: c.Endpoints()}), store(t, etcd.Options{Endpoints: c.Endpoints()})
			commit(t, publisher, new(source.Tx).Put(value("a", "1")).Put(value("b", "1")))
			if err := c.Backup(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			commit(t, publisher, new(source.Tx).Put(value("a", "bad")).Put(value("evil", "bad")).Delete(key("b")))
			put(t, publisher, "a", "worse")
			put(t, publisher, "later", "0")
			r := open(t, server)
			r.untilBodies(t, map[string]string{"a": "worse", "evil": "bad", "later": "0"})
			how := etcdtest.Restoration{Bump: x.bump, Down: func() error { <-time.NewTimer(x.down).C; return nil }}
			if x.hidden > 0 {
				how.Before = func() error {
					p := store(t, etcd.Options{Endpoints: c.Endpoints()})
					for i := range x.hidden {
						put(t, p, "later", fmt.Sprint(10-x.hidden+i))
					}
					return nil
				}
			}
			if err := c.Restore(t.Context(), path, how); err != nil {
				t.Fatal(err)
			}
			r.untilBodies(t, x.want)
			if n := server.Status().Lists; n != 2 {
				t.Errorf("the store has read all resources %d times; want twice", n)
			}
			fresh := store(t, etcd.Options{Endpoints: c.Endpoints()})
			open(t, fresh).untilBodies(t, x.want)
			if a, b := server.Digest(), fresh.Digest(); a.Revision != b.Revision || !a.Equal(b) {
				t.Errorf("digests = %+v, and %+v of another process; want equal ones", a, b)
			}
			put(t, publisher, "after", "1") // publishers and readers go on
			after := maps.Clone(x.want)
			after["after"] = "1"
			r.untilBodies(t, after)
		})
	}
}
