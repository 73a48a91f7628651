package lkg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if runCrashChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

var (
	oldStyle = Authority{OldStyle: true}
	thisNode = Node{ID: "node", Cluster: "cluster"}
)

const thing = "test.Thing"

func put(name, body string) Change {
	return Change{Put, Resource{Type: thing, Name: name, Version: "v-" + body, Server: "server", Body: []byte(body)}}
}

// openStore opens a store that the end of the test closes.
func openStore(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(o, thisNode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// keep stores resources in a directory and closes the store.
func keep(t *testing.T, o Options, changes ...Change) {
	t.Helper()
	s := openStore(t, o)
	w := s.Writer(oldStyle)
	w.SetState(true, true)
	w.Apply(changes)
	w.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func (s *Store) body(name string) string {
	r, ok := s.Lookup(oldStyle, thing, name)
	if !ok {
		return "-"
	}
	return string(r.Body)
}

func wantBody(t *testing.T, s *Store, name, want string) {
	t.Helper()
	if got := s.body(name); got != want {
		t.Errorf("%s = %q, want %q", name, got, want)
	}
}

// The store returns each resource with all its fields after it is opened again, with and without a key.
func TestResourcesSurvive(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("0123456789abcdef")} {
		o := Options{Dir: t.TempDir(), Key: key}
		must(t, os.Chmod(o.Dir, 0o700))
		expires := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		want := []Resource{
			{Type: thing, Name: "a", Version: "1", Server: "s1", Body: []byte("secret words")},
			{Type: thing, Name: "b", AliasOf: "a", Version: "2", Server: "s2", Body: []byte("B"), Expires: expires},
			{Type: "test.Other", Name: "*", Collection: true, Server: "s1", Body: []byte{}},
		}
		before := time.Now().Truncate(time.Millisecond)
		keep(t, o, Change{Put, want[0]}, Change{Put, want[1]}, Change{Put, want[2]})
		s := openStore(t, o)
		for _, w := range want {
			got, ok := s.Lookup(oldStyle, w.Type, w.Name)
			if !ok || got.Confirmed.Before(before) || got.Confirmed.After(time.Now()) {
				t.Fatalf("%s is stored: %v, confirmed at %v", w.Name, ok, got.Confirmed)
			}
			if w.Confirmed = got.Confirmed; !reflect.DeepEqual(got, w) {
				t.Errorf("got %+v\nwant %+v", got, w)
			}
		}
		if _, ok := s.Lookup(Authority{}, thing, "a"); ok {
			t.Error("the empty authority has a resource of the old-style names")
		}
		if n := len(s.Members(oldStyle, thing, func(name string) bool { return name != "b" })); n != 1 {
			t.Errorf("members = %d, want 1", n)
		}
		content, _ := os.ReadFile(s.newestPath(t))
		if strings.Contains(string(content), "secret words") != (key == nil) {
			t.Errorf("key = %q: the file has the plain text: %v", key, key != nil)
		}
	}
}

// newestPath returns the path of the newest generation.
func (s *Store) newestPath(t *testing.T) string {
	t.Helper()
	prefix := prefixOfName(oldStyle.String())
	files := s.dir.files(prefix)
	if len(files) == 0 {
		t.Fatal("there is no generation")
	}
	return filepath.Join(s.options.Dir, fileName(prefix, files[0]))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// safeDir returns a directory that only the user can write to.
func safeDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "lkg")
}

// A removed resource is not stored. A resource that nobody watches any more is, until it is too old.
func TestDeletedAndReleased(t *testing.T) {
	o := Options{Dir: safeDir(t)}
	keep(t, o, put("kept", "1"), put("deleted", "1"), put("released", "1"))
	keep(t, o, Change{Op: Delete, Resource: Resource{Type: thing, Name: "deleted"}})
	keep(t, o, put("released", "2"), Change{Op: Release, Resource: Resource{Type: thing, Name: "released"}})
	s := openStore(t, o)
	wantBody(t, s, "kept", "1")
	wantBody(t, s, "deleted", "-")
	wantBody(t, s, "released", "2")
}

// The store writes after a quiet time, at the latest after MaxDelay, and never incomplete resources.
func TestWhenItWrites(t *testing.T) {
	o := Options{Dir: safeDir(t)}
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, o)
		w := s.Writer(oldStyle)
		writes := func() uint64 {
			synctest.Wait()
			return s.Status().Authorities[0].Writes
		}
		expect := func(when string, want uint64) {
			t.Helper()
			if got := writes(); got != want {
				t.Errorf("%s: %d writes, want %d", when, got, want)
			}
		}

		w.SetState(true, false)
		w.Apply([]Change{put("a", "1")})
		pass(time.Hour)
		expect("incomplete for an hour", 0)
		w.SetState(true, true)
		expect("complete", 1)
		w.Apply([]Change{put("a", "2")})
		pass(defaultQuiet - time.Millisecond)
		expect("before the quiet time is over", 1)
		pass(2 * time.Millisecond)
		expect("after the quiet time", 2)
		w.Apply([]Change{put("a", "2")})
		pass(time.Minute)
		expect("after the same again", 2)
		for i := range 29 {
			w.Apply([]Change{put("a", fmt.Sprint("busy ", i))})
			pass(time.Second)
		}
		expect("after changes for 29 s", 2)
		w.Apply([]Change{put("a", "3")})
		pass(1001 * time.Millisecond)
		expect("after changes for 30 s", 3)
		pass(defaultMaxAge / 8)
		expect("after an eighth of the age", 4)
		w.SetState(false, true)
		pass(defaultMaxAge)
		expect("without a server", 4)
		w.SetState(false, false)
		w.Apply([]Change{put("a", "half")})
		w.Close()
		must(t, s.Close())
		o.MaxAge = -1
		wantBody(t, openStore(t, o), "a", "3")
	})
}

// A resource is as old as the last moment at which it was watched and a server was reachable.
func TestAge(t *testing.T) {
	o := Options{Dir: safeDir(t), MaxAge: time.Hour, TypeMaxAge: map[string]time.Duration{"test.Short": time.Minute}}
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, o)
		w := s.Writer(oldStyle)
		w.SetState(true, true)
		w.Apply([]Change{put("watched", "1"), put("released", "1"), {Put, Resource{Type: "test.Short", Name: "short"}}})
		pass(20 * time.Minute)
		w.Apply([]Change{{Op: Release, Resource: Resource{Type: thing, Name: "released"}}})
		pass(50 * time.Minute)
		w.SetState(false, true)
		wantBody(t, s, "released", "1")
		pass(20 * time.Minute)
		wantBody(t, s, "watched", "1")
		wantBody(t, s, "released", "-")
		if _, ok := s.Lookup(oldStyle, "test.Short", "short"); ok {
			t.Error("a resource is in use after TypeMaxAge")
		}
		pass(41 * time.Minute)
		wantBody(t, s, "watched", "-")
	})
}

// A clock that was set back makes resources unusable only if they are ahead by more than their limit of
// age. It does not extend a time to live.
func TestClockSetBack(t *testing.T) {
	o, err := Options{Dir: "x", MaxAge: time.Hour}.withDefaults()
	must(t, err)
	now := time.Now()
	for _, row := range []struct {
		confirmed, expires time.Duration // from now
		usable             bool
		ttl                time.Duration
	}{
		{confirmed: -59 * time.Minute, usable: true},
		{confirmed: -61 * time.Minute},
		{confirmed: 59 * time.Minute, usable: true},
		{confirmed: 61 * time.Minute},
		{confirmed: -time.Minute, expires: time.Minute, usable: true, ttl: time.Minute},
		{confirmed: -2 * time.Minute, expires: -time.Minute},
		{confirmed: 30 * time.Minute, expires: 31 * time.Minute, usable: true, ttl: time.Minute},
	} {
		r := Resource{Confirmed: now.Add(row.confirmed)}
		if row.expires != 0 {
			r.Expires = now.Add(row.expires)
		}
		ttl, _ := r.Remaining(now)
		if r.usable(&o, now) != row.usable || row.usable && ttl != row.ttl {
			t.Errorf("confirmed %v, expires %v: usable = %v, TTL %v; want %v, %v", row.confirmed, row.expires, !row.usable, ttl, row.usable, row.ttl)
		}
	}
}

// A directory that others can write to, or of another node, is refused; so is a file.
func TestRefusedDirectories(t *testing.T) {
	o := Options{Dir: safeDir(t)}
	keep(t, o, put("a", "1"))
	for _, mode := range []os.FileMode{0o770, 0o702} {
		must(t, os.Chmod(o.Dir, mode))
		if s, err := Open(o, thisNode); !errors.Is(err, ErrUnsafe) {
			t.Errorf("mode %o: store %v, error %v; want ErrUnsafe", mode, s, err)
		}
	}
	must(t, os.Chmod(o.Dir, 0o700))
	for _, other := range []Node{{ID: "other", Cluster: "cluster"}, {ID: "node"}} {
		if s, err := Open(o, other); !errors.Is(err, ErrOtherNode) || !strings.Contains(err.Error(), `"node"`) {
			t.Errorf("node %v: store %v, error %v; want ErrOtherNode", other, s, err)
		}
	}
	if os.Geteuid() == 0 { // only root can give a directory away
		must(t, os.Chown(o.Dir, 12345, -1))
		if s, err := Open(o, thisNode); !errors.Is(err, ErrUnsafe) {
			t.Errorf("directory of another user: store %v, error %v; want ErrUnsafe", s, err)
		}
		must(t, os.Chown(o.Dir, 0, -1))
	}
	s := openStore(t, o)
	must(t, os.Chmod(s.newestPath(t), 0o606))
	must(t, s.Close())
	wantBody(t, openStore(t, o), "a", "-")
}

// The second store of a directory reads it, and takes over when the first one is closed.
func TestOneWriter(t *testing.T) {
	o := Options{Dir: safeDir(t), MaxDelay: 10 * time.Millisecond, Quiet: time.Millisecond}
	keep(t, o, put("a", "1"))
	first := openStore(t, o)
	second := openStore(t, o)
	if err := second.Status().ReadOnly; !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("read-only because of %v, want EWOULDBLOCK", err)
	}
	wantBody(t, second, "a", "1")
	w := second.Writer(oldStyle)
	w.SetState(true, true)
	w.Apply([]Change{put("a", "2")})
	eventually(t, "a failed attempt", func() bool { return second.Status().Authorities[0].Failures > 0 })
	must(t, first.Close())
	eventually(t, "a write", func() bool { return second.Status().Authorities[0].Writes > 0 })
	if st := second.Status(); st.ReadOnly != nil || st.Authorities[0].Err != nil || st.Authorities[0].Sequence != 2 {
		t.Errorf("status = %+v, want generation 2 and no error", st)
	}
}

func eventually(t *testing.T, event string, happened func() bool) {
	t.Helper()
	ticker, deadline := time.NewTicker(time.Millisecond), time.NewTimer(time.Minute)
	defer ticker.Stop()
	defer deadline.Stop()
	for !happened() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("no %s in a minute", event)
		}
	}
}

func pass(d time.Duration) { <-time.NewTimer(d).C }
