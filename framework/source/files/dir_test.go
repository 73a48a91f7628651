package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

const clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

// A world is a directory, its source and a reader of all clusters.
type world struct {
	t    *testing.T
	path string
	dir  *Dir
	log  *safeBuffer

	mu    sync.Mutex
	has   map[string]string // versions by name
	errs  map[string]string // by name
	state source.State
	told  int // changes
}

func newWorld(t *testing.T, o Options, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, path: t.TempDir(), log: new(safeBuffer), has: make(map[string]string), errs: make(map[string]string)}
	for name, content := range files {
		w.write(name, content)
	}
	o.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	o.Types = standardTypes(t)
	w.open(o)
	return w
}

func (w *world) open(o Options) {
	w.t.Helper()
	var err error
	if w.dir, err = Open(w.path, o); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	s, err := w.dir.Open(ctx, w)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cancel(); _ = w.dir.Close() })
	s.Want([]source.Interest{{Type: clusterURL, Name: source.Wildcard}}, nil)
}

// Apply implements source.Sink.
func (w *world) Apply(c source.Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told++
	for _, r := range c.Put {
		delete(w.has, r.Name)
		delete(w.errs, r.Name)
		if r.Err != nil {
			w.errs[r.Name] = r.Err.GetMessage()
		} else {
			w.has[r.Name] = r.Version
		}
	}
	for _, k := range c.Delete {
		delete(w.has, k.Name)
		delete(w.errs, k.Name)
	}
	return nil
}

// State implements source.Sink.
func (w *world) State(s source.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
}

// changes returns the number of changes so far.
func (w *world) changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told
}

// A safeBuffer is the output of a logger.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// write writes a file in place. Its time of change is that of the bubble.
func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.path, name)
	must(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(w.t, os.WriteFile(path, []byte(content), 0o644))
	must(w.t, os.Chtimes(path, time.Now(), time.Now()))
}

// move moves a complete file into place.
func (w *world) move(name, content string) {
	w.t.Helper()
	w.write("."+name+".new", content)
	must(w.t, os.Rename(filepath.Join(w.path, "."+name+".new"), filepath.Join(w.path, name)))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pass waits in the bubble's time. The goroutine of the directory has then looked at it.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func (w *world) want(names ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	want := make(map[string]bool)
	for _, n := range names {
		want[n] = true
	}
	got := make(map[string]bool)
	for n := range w.has {
		got[n] = true
	}
	if !maps.Equal(got, want) || w.state.Kind != source.Live {
		w.t.Errorf("the source has %v and is %v, want %v, live; problems %v", got, w.state, names, w.dir.Problems())
	}
}

func (w *world) wantDown(reason string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.Kind != source.Down || !strings.Contains(w.state.String(), reason) {
		w.t.Errorf("the source is %v, want down: %s", w.state, reason)
	}
}

func resourceFile(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString("---\n" + strings.ReplaceAll(checkout, "checkout", n))
	}
	return b.String()
}

func TestADirectoryIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, map[string]string{"a.yaml": resourceFile("a"), "sub/b.yaml": resourceFile("b"), ".hidden.yaml": "x", "README.md": "x"})
		pass(3 * time.Second)
		w.want("a", "b")
		w.move("a.yaml", resourceFile("a", "c"))
		pass(3 * time.Second)
		w.want("a", "b", "c")
		must(t, os.Remove(filepath.Join(w.path, "sub", "b.yaml")))
		pass(3 * time.Second)
		w.want("a", "c")
		told := w.changes()
		pass(time.Minute)
		if w.changes() != told {
			t.Errorf("%d changes without a change of the directory", w.changes()-told)
		}
	})
}

// A file that is still being written to is not read. All files of a change are applied together.
func TestHalfWrittenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, map[string]string{"a.yaml": resourceFile("a")})
		pass(3 * time.Second)
		must(t, os.Remove(filepath.Join(w.path, "a.yaml")))
		w.write("b.yaml", "") // the resource moves to a file that is written in parts
		for i := range 8 {
			pass(400 * time.Millisecond)
			w.want("a")
			w.write("b.yaml", resourceFile("a", "b")[:10*i])
		}
		w.write("b.yaml", resourceFile("a", "b"))
		told := w.changes()
		pass(3 * time.Second)
		w.want("a", "b")
		if w.changes() != told+1 {
			t.Errorf("%d changes, want 1", w.changes()-told)
		}
	})
}

func TestMovesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{MovesOnly: true}, map[string]string{"a.yaml": resourceFile("a")})
		pass(3 * time.Second)
		w.write("a.yaml", resourceFile("b"))
		pass(10 * time.Second)
		w.want("a")
		if n := strings.Count(w.log.String(), "file changed in place is not read"); n != 1 {
			t.Errorf("%d lines about the file, want 1", n)
		}
		w.move("a.yaml", resourceFile("c"))
		pass(3 * time.Second)
		w.want("c")
	})
}

// A ConfigMap changes by the swap of one link, and is never read in part.
func TestConfigMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{MovesOnly: true}, nil)
		swap := func(version string, files map[string]string) {
			for name, content := range files {
				w.write(filepath.Join(".."+version, name), content)
			}
			_ = os.Remove(filepath.Join(w.path, "..tmp"))
			must(t, os.Symlink(".."+version, filepath.Join(w.path, "..tmp")))
			must(t, os.Rename(filepath.Join(w.path, "..tmp"), filepath.Join(w.path, dataLink)))
		}
		swap("1", map[string]string{"a.yaml": resourceFile("a"), "b.yaml": resourceFile("b")})
		must(t, os.Symlink("..data/a.yaml", filepath.Join(w.path, "a.yaml")))
		must(t, os.Symlink("..data/b.yaml", filepath.Join(w.path, "b.yaml")))
		pass(2 * time.Second)
		w.want("a", "b")
		told := w.changes()
		swap("2", map[string]string{"a.yaml": resourceFile("c"), "b.yaml": resourceFile("d")})
		must(t, os.RemoveAll(filepath.Join(w.path, "..1")))
		pass(2 * time.Second)
		w.want("c", "d")
		if w.changes() != told+1 {
			t.Errorf("%d changes for a swap, want 1", w.changes()-told)
		}
	})
}

// A file with an error keeps the resources of its last valid version. Others are not affected.
func TestABadFileKeepsItsLastValidVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, map[string]string{"a.yaml": resourceFile("a"), "b.yaml": resourceFile("b")})
		pass(3 * time.Second)
		w.move("a.yaml", resourceFile("a2")+"colour: red\n")
		w.move("b.yaml", resourceFile("b2"))
		pass(3 * time.Second)
		w.want("a", "b2")
		if p := w.dir.Problems(); len(p) != 1 || !strings.HasPrefix(p[0].Error(), "a.yaml:7:1: unknown field") {
			t.Errorf("problems = %v, want one of a.yaml:7:1", p)
		}
		if n := strings.Count(w.log.String(), "file rejected"); n != 1 {
			t.Errorf("%d lines about the file, want 1:\n%s", n, w.log)
		}
		w.move("a.yaml", resourceFile("a2"))
		pass(3 * time.Second)
		w.want("a2", "b2")
		if p := w.dir.Problems(); len(p) != 0 {
			t.Errorf("problems = %v after the repair", p)
		}
	})
}

// A resource that a file names, and that has no valid version, is an error at its position and not
// absent.
func TestResourcesOfInvalidFiles(t *testing.T) {
	invalid := strings.ReplaceAll(checkout, "checkout", "bad") + "colour: red\n"
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, map[string]string{"a.yaml": resourceFile("a") + "---\n" + invalid, "b.yaml": resourceFile("b")})
		pass(3 * time.Second)
		w.want("a", "b")
		w.wantErrors(map[string]string{"bad": `a.yaml:13:1: unknown field "colour"`})

		w.move("a.yaml", resourceFile("a", "c")+"---\n"+invalid) // c is not used, because a stays as it is
		pass(3 * time.Second)
		w.want("a", "b")
		w.wantErrors(map[string]string{"bad": "a.yaml:19:1: unknown field", "c": "stays in use; a.yaml:19:1: unknown field"})

		w.move("a.yaml", "]") // nobody knows which resources this file would have
		pass(3 * time.Second)
		w.want("a", "b")
		w.wantErrors(map[string]string{"bad": "a.yaml:19:1: unknown field", "c": "stays in use; a.yaml:19:1: unknown field"})

		w.move("b.yaml", resourceFile("b", "c")) // c is valid in another file
		pass(3 * time.Second)
		w.want("a", "b", "c")
		w.wantErrors(map[string]string{"bad": "a.yaml:19:1: unknown field"})

		w.move("a.yaml", resourceFile("bad"))
		pass(3 * time.Second)
		w.want("bad", "b", "c")
		w.wantErrors(nil)
	})
}

// wantErrors expects errors of resources with these texts, by name.
func (w *world) wantErrors(want map[string]string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	ok := len(w.errs) == len(want)
	for name, text := range want {
		ok = ok && strings.Contains(w.errs[name], text)
	}
	if !ok {
		w.t.Errorf("errors of resources = %q, want %q", w.errs, want)
	}
}

func TestAResourceInTwoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, map[string]string{"a.yaml": resourceFile("x"), "b.yaml": resourceFile("x", "y")})
		pass(3 * time.Second)
		w.want("x", "y")
		if p := fmt.Sprint(w.dir.Problems()); !strings.Contains(p, "must be in one file only, and is also in a.yaml") {
			t.Errorf("problems = %s", p)
		}
	})
}

// A directory that vanishes, and one without files, is no directory without resources.
func TestDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, map[string]string{"a.yaml": resourceFile("a")})
		pass(3 * time.Second)
		must(t, os.Rename(w.path, w.path+".away"))
		pass(2 * time.Second)
		w.wantDown("no such file")
		must(t, os.Mkdir(w.path, 0o755)) // an empty mount point
		pass(2 * time.Second)
		w.wantDown("no resource files;")
		must(t, os.Remove(w.path))
		must(t, os.Rename(w.path+".away", w.path))
		pass(2 * time.Second)
		w.want("a")
		w.move("a.yaml", "[]")
		pass(3 * time.Second)
		w.want()
	})
}

func TestADirectoryThatAppearsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, path: filepath.Join(t.TempDir(), "later"), log: new(safeBuffer), has: make(map[string]string), errs: make(map[string]string)}
		w.open(Options{Types: standardTypes(t)})
		pass(2 * time.Second)
		w.wantDown("no such file")
		w.write("a.yaml", resourceFile("a"))
		pass(3 * time.Second)
		w.want("a")
	})
}

func TestLimits(t *testing.T) {
	for reason, o := range map[string]Options{"MaxFiles": {MaxFiles: 1}, "MaxBytes": {MaxBytes: 100}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, o, map[string]string{"a.yaml": resourceFile("a"), "b.yaml": resourceFile("b")})
			pass(3 * time.Second)
			w.wantDown(reason)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{MaxFileBytes: int64(len(resourceFile("a")))}, map[string]string{"a.yaml": resourceFile("a"), "b.yaml": resourceFile("b", "c")})
		pass(3 * time.Second)
		w.wantPart("MaxFileBytes", "a")
		if p := fmt.Sprint(w.dir.Problems()); !strings.Contains(p, "MaxFileBytes") {
			t.Errorf("problems = %s", p)
		}
	})
}

// A directory at its limits is used. Its files may be nested, up to the limit of depth.
func TestAtTheLimits(t *testing.T) {
	deep := strings.Repeat("d/", maxDepth)
	for _, test := range []struct {
		options Options
		file    string
		down    string
	}{
		{Options{}, deep + "b.yaml", ""},
		{Options{}, deep + "d/b.yaml", "nested more than 32 directories deep"},
		{Options{MaxFiles: 2, MaxBytes: int64(len(resourceFile("a", "b")))}, "b.yaml", ""},
		{Options{MaxFiles: 2, MaxBytes: int64(len(resourceFile("a", "b"))) - 1}, "b.yaml", "MaxBytes"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, test.options, map[string]string{"a.yaml": resourceFile("a"), test.file: resourceFile("b")})
			pass(3 * time.Second)
			if test.down != "" {
				w.wantDown(test.down)
				return
			}
			w.want("a", "b")
		})
	}
}

// A file is complete when nothing was written to it for exactly the quiet time. Further looks commit nothing.
func TestQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Quiet: 10 * time.Second, Poll: time.Second}, map[string]string{"a.yaml": resourceFile("a")})
		pass(10*time.Second - 1)
		if n := w.changes(); n != 0 {
			t.Errorf("%d changes before the quiet time is over", n)
		}
		pass(1)
		w.want("a")
		applied := w.dir.applied
		pass(time.Minute)
		if w.dir.applied != applied {
			t.Error("the directory is read again without a change")
		}
	})
}

func TestCheckOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{CheckOwner: true}, map[string]string{"a.yaml": resourceFile("a"), "b.yaml": resourceFile("b")})
		must(t, os.Chmod(w.path, 0o700))
		must(t, os.Chmod(filepath.Join(w.path, "b.yaml"), 0o666))
		pass(3 * time.Second)
		w.wantPart("must not be writable", "a")
		if p := fmt.Sprint(w.dir.Problems()); !strings.Contains(p, "must not be writable by the group or others") {
			t.Errorf("problems = %s", p)
		}
		must(t, os.Chmod(w.path, 0o777))
		pass(3 * time.Second)
		w.wantDown("must not be writable")
	})
}

// Files of root and of the user of the process are allowed. Only root can make a file of another user.
func TestOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	must(t, os.WriteFile(path, nil, 0o600))
	for _, p := range []string{path, string(filepath.Separator)} {
		if err := checkOwner(p); err != nil {
			t.Errorf("checkOwner rejects a file of root or of the user: %v", err)
		}
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(path, 12345, -1))
		if err := checkOwner(path); err == nil || !strings.Contains(err.Error(), "owner = 12345; must be 0") {
			t.Errorf("checkOwner of a file of another user = %v", err)
		}
	}
	if err := checkOwner(path + ".missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("checkOwner of a missing file = %v", err)
	}
}

// TestRelativeURI expects a path without a slash at its begin to be relative to the working directory.
func TestRelativeURI(t *testing.T) {
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "my files"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(parent)
	for _, uri := range []string{"file:my%20files", "file:./my%20files?poll=5s"} {
		d, err := OpenURI(uri, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		if want := filepath.Join(parent, "my files"); d.path != want {
			t.Errorf("%s opens %s, want %s", uri, d.path, want)
		}
	}
}

func TestOpenURI(t *testing.T) {
	for uri, want := range map[string]string{
		"file://host/etc":           "host",
		"file:":                     "path",
		"file:%zz":                  "invalid",
		"file:///etc?poll=0s":       "poll",
		"file:///etc?moves_only=x":  "moves_only",
		"file:///etc?colour=red":    "must be one of",
		"file:///etc?%zz":           "invalid",
		"file:///etc?quiet=forever": "quiet",
	} {
		if d, err := OpenURI(uri, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenURI(%s): %v, %v; want an error about %s", uri, d, err, want)
		}
	}
	d, err := OpenURI("file://localhost"+t.TempDir()+"?poll=5s&quiet=2s&moves_only=true&check_owner=true", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if o := d.options; o.Poll != 5*time.Second || o.Quiet != 2*time.Second || !o.MovesOnly || !o.CheckOwner {
		t.Errorf("options = %+v", o)
	}
}
