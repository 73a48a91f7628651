package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/partial"
)

// wantPart expects a directory that is known in part, for a reason.
func (w *world) wantPart(reason string, names ...string) {
	w.t.Helper()
	w.mu.Lock()
	if !partial.Is(w.state) || !strings.Contains(w.state.String(), reason) {
		w.t.Errorf("the source is %v; want one that is known in part: %s", w.state, reason)
	}
	now := w.state
	w.state = source.State{Kind: source.Live}
	w.mu.Unlock()
	w.want(names...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = now
}

// An asker is the sink of a session that wants names.
type asker struct {
	answers  map[string]string // "exists", "gone", or the code of an error
	complete []string
}

// Apply implements [source.Sink].
func (a *asker) Apply(c source.Change) error {
	for i := range c.Put {
		a.answers[c.Put[i].Name] = "exists"
		if c.Put[i].Err != nil {
			a.answers[c.Put[i].Name] = codes.Code(c.Put[i].Err.GetCode()).String()
		}
	}
	for _, i := range c.Complete {
		a.complete = append(a.complete, i.Name)
		if a.answers[i.Name] == "" && !partial.IsCollection(i.Name) || a.answers[i.Name] == codes.Unavailable.String() && !slices.ContainsFunc(c.Put, func(r source.Resource) bool { return r.Name == i.Name }) {
			a.answers[i.Name] = "gone"
		}
	}
	return nil
}

// State implements [source.Sink].
func (*asker) State(source.State) {}

// ask opens a session that wants names of clusters.
func (w *world) ask(names ...string) *asker {
	w.t.Helper()
	a := &asker{answers: make(map[string]string)}
	s, err := w.dir.Open(w.t.Context(), a)
	must(w.t, err)
	for _, n := range names {
		s.Want([]source.Interest{{Type: clusterURL, Name: n}}, nil)
	}
	return a
}

func (a *asker) wantAnswers(t *testing.T, when string, want map[string]string, collections ...string) {
	t.Helper()
	synctest.Wait()
	for name, answer := range want {
		if a.answers[name] != answer {
			t.Errorf("%s: the answer for %s is %q; want %q", when, name, a.answers[name], answer)
		}
	}
	got := slices.DeleteFunc(slices.Clone(a.complete), func(n string) bool { return !partial.IsCollection(n) })
	slices.Sort(got)
	if !slices.Equal(slices.Compact(got), collections) {
		t.Errorf("%s: the collections %q are answered; want %q", when, got, collections)
	}
}

// A directory with a file that nobody can read at the start does not say that a resource does not exist. The other files
// are used, and their changes are.
func TestAnUnreadableFileAtTheStart(t *testing.T) {
	glob := "xdstp:///envoy.config.cluster.v3.Cluster/g/*"
	for reason, content := range map[string]string{
		"bad.yaml:1:":            "]",
		"bad.yaml:7:1:":          resourceFile("half") + "]",
		`must be set: wrap`:      strings.ReplaceAll(resourceFile("x"), "name: x\n", ""),
		`"@type"; must be`:       "name: lost\n",
		"bad.yaml: size = ":      resourceFile("x") + strings.Repeat("#", 4096),
		"must be a Discovery":    "", // of bad.pb
		"must be a resource, a ": "text",
	} {
		synctest.Test(t, func(t *testing.T) {
			name := "bad.yaml"
			if content == "" {
				name, content = "bad.pb", "\xff"
			}
			w := newWorld(t, Options{MaxFileBytes: 4096}, map[string]string{"a.yaml": resourceFile("a"), name: content})
			pass(3 * time.Second)
			w.wantPart(reason, "a")
			early := w.ask("a", "b", source.Wildcard, glob)
			early.wantAnswers(t, "at the start", map[string]string{"a": "exists", "b": "Unavailable"})
			w.move("a.yaml", resourceFile("a", "a2"))
			pass(3 * time.Second)
			w.ask("a2", "b").wantAnswers(t, "after a change of another file", map[string]string{"a2": "exists", "b": "Unavailable"})
			w.move(name, content+" ") // it stays broken
			pass(3 * time.Second)
			w.ask("b", source.Everything).wantAnswers(t, "after a change of the file", map[string]string{"b": "Unavailable"})
			must(t, os.Remove(filepath.Join(w.path, name)))
			w.move("c.yaml", resourceFile("c"))
			pass(3 * time.Second)
			w.want("a", "a2", "c")
			early.wantAnswers(t, "after the repair", map[string]string{"a": "exists", "a2": "exists", "b": "gone", "c": "exists"}, source.Wildcard, glob)
			w.ask("c", "d").wantAnswers(t, "after the repair", map[string]string{"c": "exists", "d": "gone"})
		})
	}
}

// A file that appears and cannot be read may be another one that was renamed. Nothing is deleted as long as it is there.
func TestNothingIsDeletedWhileAFileCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, map[string]string{"a.yaml": resourceFile("a", "b"), "c.yaml": resourceFile("c", "d")})
		pass(3 * time.Second)
		w.want("a", "b", "c", "d")
		w.write("a.yaml", "]")
		must(t, os.Rename(filepath.Join(w.path, "a.yaml"), filepath.Join(w.path, "z.yaml")))
		w.move("c.yaml", resourceFile("c"))
		pass(3 * time.Second)
		w.want("a", "b", "c", "d")
		if p := w.dir.Problems(); len(p) != 2 || !strings.Contains(p[1].Error(), "z.yaml: names of resources; must be readable: until then, 3 resources stay") {
			t.Errorf("problems = %v; want that three resources stay because of z.yaml", p)
		}
		w.ask("nosuch", source.Wildcard).wantAnswers(t, "with all names known before", map[string]string{"nosuch": "gone"}, source.Wildcard)
		w.move("z.yaml", resourceFile("a"))
		pass(3 * time.Second)
		w.want("a", "c")
		if p := w.dir.Problems(); len(p) != 0 {
			t.Errorf("problems = %v after the repair", p)
		}
	})
}

// An empty directory at the start is most likely a mount point.
func TestAnEmptyDirectoryAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, nil)
		pass(3 * time.Second)
		w.wantDown("no resource files; use a file with an empty list")
		a := w.ask("a", source.Wildcard)
		a.wantAnswers(t, "while the directory is empty", nil)
		if len(a.answers)+len(a.complete) > 0 {
			t.Errorf("answers of an empty directory = %v, %q; want none", a.answers, a.complete)
		}
		w.move("a.yaml", resourceFile("a"))
		pass(3 * time.Second)
		w.want("a")
		a.wantAnswers(t, "with a file", map[string]string{"a": "exists"}, source.Wildcard)
	})
}

// Our clock measures how long a file was quiet. The clock of the machine that writes it may be ahead or behind.
func TestClocksOfWriters(t *testing.T) {
	for _, ahead := range []time.Duration{0, 5 * time.Second, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options{Poll: 50 * time.Millisecond}, map[string]string{"a.yaml": resourceFile("a", "b")})
			pass(3 * time.Second)
			w.want("a", "b")
			told := w.changes()
			path := filepath.Join(w.path, "a.yaml")
			whole := resourceFile("a2", "b2")
			for i, part := range []string{whole[:len(whole)/2], whole} {
				must(t, os.WriteFile(path, []byte(part), 0o600))
				now := time.Now().Add(ahead + time.Duration(i))
				must(t, os.Chtimes(path, now, now))
				pass(500 * time.Millisecond)
				w.want("a", "b")
			}
			pass(time.Second)
			w.want("a2", "b2")
			if n := w.changes() - told; n != 1 {
				t.Errorf("clock ahead by %v: %d changes; want 1", ahead, n)
			}
		})
	}
}
