package files

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An entry that cannot be read is no problem of the others: a loop of links, a socket, and a directory above. Nothing is
// deleted because of it.
func TestEntriesThatCannotBeRead(t *testing.T) {
	for name, x := range map[string]struct {
		make func(dir string) error
		want string // part of the problem; "": none
		part bool   // the entry may have resources
	}{
		"a loop of links": {func(dir string) error { return os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")) }, "loop.yaml: ", true},
		"a socket": {func(dir string) error {
			t.Chdir(dir) // the path of a socket must be short
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "s.yaml"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		}, "s.yaml: must be a regular file", true},
		"a link to a directory above": {func(dir string) error { return os.Symlink("..", filepath.Join(dir, "sub", "up")) }, "sub/up: must not be a link to a directory above it", false},
		"a link to nothing":           {func(dir string) error { return os.Symlink("nothing", filepath.Join(dir, "x.yaml")) }, "", false},
		"a socket of another name": {func(dir string) error {
			t.Chdir(dir)
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "s"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		}, "", false},
	} {
		for _, early := range []bool{true, false} {
			var w *world
			dir := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
			if early {
				must(t, x.make(dir))
			}
			synctest.Test(t, func(t *testing.T) {
				w = &world{t: t, path: dir, log: new(safeBuffer), has: make(map[string]string), errs: make(map[string]string)}
				w.write("a.yaml", resourceFile("a"))
				w.write("sub/b.yaml", resourceFile("b"))
				w.open(Options{Types: standardTypes(t)})
				pass(3 * time.Second)
				if early && x.part {
					w.wantPart(x.want, "a", "b")
				} else {
					w.want("a", "b")
				}
				if !early {
					must(t, x.make(dir))
				}
				w.move("a.yaml", resourceFile("a", "c"))
				pass(3 * time.Second)
				if early && x.part {
					w.wantPart(x.want, "a", "b", "c")
				} else {
					w.want("a", "b", "c")
				}
				if p := fmt.Sprint(w.dir.Problems()); (x.want == "") != (p == "[]") || !strings.Contains(p, x.want) {
					t.Errorf("%s: problems = %s; want %q", name, p, x.want)
				}
			})
		}
	}
}

// The files of a directory that cannot be read any more stay as they were. The directory of fsck is ignored.
func TestDirectoriesThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, map[string]string{"a.yaml": resourceFile("a"), "sub/b.yaml": resourceFile("b"), "sub/deep/c.yaml": resourceFile("c")})
		pass(3 * time.Second)
		w.want("a", "b", "c")
		l, err := w.dir.scan()
		must(t, err)
		for path := range l.files {
			if path != "a.yaml" {
				delete(l.files, path)
			}
		}
		l.bad["sub"] = bad{text: "permission denied"} // root may read everything
		next, _ := w.dir.read(l)
		w.dir.apply(t.Context(), l, next)
		synctest.Wait()
		w.want("a", "b", "c")
		if p := fmt.Sprint(w.dir.Problems()); p != "[sub: permission denied]" {
			t.Errorf("problems = %s; want one of the directory", p)
		}
	})
	if os.Geteuid() == 0 {
		return // nothing is unreadable for root
	}
	for _, name := range []string{lostFound, "other"} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, path: t.TempDir(), log: new(safeBuffer), has: make(map[string]string), errs: make(map[string]string)}
			w.write("a.yaml", resourceFile("a"))
			must(t, os.Mkdir(filepath.Join(w.path, name), 0))
			w.open(Options{Types: standardTypes(t)})
			pass(3 * time.Second)
			if name == lostFound {
				w.want("a")
			} else {
				w.wantPart("other: ", "a")
			}
		})
	}
}
