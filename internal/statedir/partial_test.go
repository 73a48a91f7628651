package statedir

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/files"
)

const textURL = "type.googleapis.com/google.protobuf.StringValue"

// texts returns a file with resources that have these names, and the content of each.
func texts(content string, names ...string) string {
	out := ""
	for _, n := range names {
		out += fmt.Sprintf("---\n\"@type\": type.googleapis.com/envoy.service.discovery.v3.Resource\nname: %s\nresource: {\"@type\": %s, value: %q}\n", n, textURL, content)
	}
	return out
}

// body returns the encoded content.
func body(content string) string { return "\n" + string(rune(len(content))) + content }

// A folder is served by processes that follow each other.
type folder struct {
	t     *testing.T
	path  string
	state string
}

func (f *folder) write(name, content string) {
	f.t.Helper()
	part := filepath.Join(f.path, "."+name)
	if err := errors.Join(os.WriteFile(part, []byte(content), 0o600), os.Chtimes(part, time.Now(), time.Now()), os.Rename(part, filepath.Join(f.path, name))); err != nil {
		f.t.Fatal(err)
	}
}

// serve returns readers of a process: one of everything, and one of names.
func (f *folder) serve(names ...string) (all, named *reader, end func()) {
	f.t.Helper()
	d, err := files.Open(f.path, files.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := Open(Options{Path: f.state, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	src, err := s.Source("authority ", d)
	if err != nil {
		f.t.Fatal(err)
	}
	all, named = newReader(), newReader()
	for r, list := range map[*reader][]string{all: {source.Wildcard}, named: names} {
		session, err := src.Open(f.t.Context(), r)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, n := range list {
			session.Want([]source.Interest{{Type: textURL, Name: n}}, nil)
		}
	}
	f.pass()
	return all, named, func() {
		if err := errors.Join(d.Close(), s.Close()); err != nil {
			f.t.Error(err)
		}
	}
}

func (f *folder) pass() {
	<-time.NewTimer(10 * time.Second).C
	synctest.Wait()
}

func newReader() *reader {
	return &reader{has: make(map[string]string), absent: make(map[string]bool)}
}

// The last valid version of a file that cannot be read any more survives a restart. Other files and their changes are used
// meanwhile, and nothing is said to be gone.
func TestUnreadableFilesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &folder{t: t, path: t.TempDir(), state: safeDir(t)}
		f.write("a.yaml", texts("1", "a", "a2"))
		f.write("b.yaml", texts("1", "b", "gone"))
		all, named, end := f.serve("a", "b", "nosuch")
		one := body("1")
		all.expect(t, "before", source.Live, map[string]string{"a": one, "a2": one, "b": one, "gone": one})
		named.expect(t, "before", source.Live, map[string]string{"a": one, "b": one})
		end()

		f.write("a.yaml", "]")
		f.write("b.yaml", texts("2", "b", "new"))
		two := body("2")
		all, named, end = f.serve("a", "b", "new", "nosuch")
		all.expect(t, "after the restart", source.Stale, map[string]string{"a": one, "a2": one, "b": two, "gone": one, "new": two})
		named.expect(t, "after the restart", source.Stale, map[string]string{"a": one, "b": two, "new": two, "nosuch": "error Unavailable"})
		f.write("b.yaml", texts("3", "b", "new"))
		f.pass()
		three := body("3")
		all.expect(t, "after a change", source.Stale, map[string]string{"a": one, "a2": one, "b": three, "gone": one, "new": three})
		end()

		all, named, end = f.serve("a", "b", "nosuch") // the state of the first process is still there
		all.expect(t, "after another restart", source.Stale, map[string]string{"a": one, "a2": one, "b": three, "gone": one, "new": three})
		f.write("a.yaml", texts("4", "a"))
		f.pass()
		four := body("4")
		all.expect(t, "after the repair", source.Live, map[string]string{"a": four, "b": three, "new": three})
		named.expect(t, "after the repair", source.Live, map[string]string{"a": four, "b": three})
		if !named.absent["nosuch"] {
			t.Error("after the repair, a name is not answered")
		}
		end()
		_, named, end = f.serve("a", "a2")
		named.expect(t, "after a restart without errors", source.Live, map[string]string{"a": four})
		end()
	})
}

// A file that names a resource and has an error keeps the valid resource of the state directory, also after further
// restarts.
func TestInvalidResourcesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &folder{t: t, path: t.TempDir(), state: safeDir(t)}
		f.write("a.yaml", texts("1", "a", "b"))
		_, _, end := f.serve()
		end()
		invalid := func(content string, names ...string) string { return texts(content, names...) + "colour: red\n" }
		f.write("a.yaml", texts("2", "a")+invalid("2", "b")+invalid("2", "new"))
		one, two := body("1"), body("2")
		for range 2 {
			all, named, end := f.serve("b", "new")
			all.expect(t, "after a restart", source.Live, map[string]string{"a": two, "b": one, "new": "error InvalidArgument"})
			named.expect(t, "after a restart", source.Live, map[string]string{"b": one, "new": "error InvalidArgument"})
			end()
		}
		all, _, end := f.serve()
		f.write("a.yaml", texts("3", "a"))
		f.pass()
		all.expect(t, "without the resource", source.Live, map[string]string{"a": body("3")})
		end()
	})
}
