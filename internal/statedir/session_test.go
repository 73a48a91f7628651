package statedir

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/source"
)

const typeURL = "type.googleapis.com/test.Policy"

// A reader is a sink that holds what a session has reported.
type reader struct {
	mu      sync.Mutex
	has     map[string]string // bodies by name; "error CODE" for errors
	absent  map[string]bool   // complete, and without a resource
	state   source.State
	last    source.Change
	changes int
}

func (r *reader) Apply(ch source.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = ch
	r.changes++
	for i := range ch.Put {
		p := &ch.Put[i]
		if r.has[p.Name] = string(p.Body); p.Err != nil {
			r.has[p.Name] = "error " + codes.Code(p.Err.GetCode()).String()
		}
	}
	for _, k := range ch.Delete {
		delete(r.has, k.Name)
	}
	for _, i := range ch.Complete {
		r.absent[i.Name] = r.has[i.Name] == ""
	}
	return nil
}

func (r *reader) State(s source.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
}

func (r *reader) expect(t *testing.T, when string, kind source.StateKind, want map[string]string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Kind != kind || !maps.Equal(r.has, want) {
		t.Errorf("%s: the reader has %v of a source that is %v; want %v, %v", when, r.has, r.state, want, kind)
	}
}

func safeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lines has the messages that were logged.
type lines struct {
	slog.Handler
	mu   sync.Mutex
	list []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.Value.String(); return true })
	l.list = append(l.list, text)
	return nil
}

func (l *lines) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.list, func(s string) bool { return strings.Contains(s, part) })
}

// A process uses a state directory for a source.
type process struct {
	t      *testing.T
	dir    *Dir
	memory *source.Memory // the source
	source source.Source
	log    *lines
}

// run starts a process whose source does not report anything yet.
func run(t *testing.T, path string, key []byte) *process {
	t.Helper()
	p := &process{t: t, memory: source.NewMemory(), log: &lines{Handler: slog.DiscardHandler}}
	p.memory.SetState(source.State{})
	var err error
	if p.dir, err = Open(Options{Path: path, Key: key, Logger: slog.New(p.log)}); err != nil {
		t.Fatal(err)
	}
	if p.source, err = p.dir.Source("authority ", p.memory); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) close() {
	p.t.Helper()
	if err := p.dir.Close(); err != nil {
		p.t.Error(err)
	}
}

// fill commits resources, by name with their bodies, and makes the source live. An empty body deletes.
func (p *process) fill(revision source.Revision, bodies map[string]string) {
	p.t.Helper()
	tx := new(source.Tx)
	for name, body := range bodies {
		k := source.Key{Type: typeURL, Name: name}
		if body == "" {
			tx.Delete(k)
		} else {
			tx.Put(source.Resource{Key: k, Body: []byte(body)})
		}
	}
	if err := p.memory.CommitAt(p.t.Context(), tx, "epoch", revision); err != nil {
		p.t.Fatal(err)
	}
	p.memory.SetState(source.State{Kind: source.Live})
	synctest.Wait()
}

// open opens a session that wants names.
func (p *process) open(names ...string) (*reader, source.Session) {
	p.t.Helper()
	r := &reader{has: make(map[string]string), absent: make(map[string]bool)}
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(cancel)
	s, err := p.source.Open(ctx, r)
	if err != nil {
		p.t.Fatal(err)
	}
	s.Want(interests(names...), nil)
	synctest.Wait()
	return r, s
}

func interests(names ...string) (list []source.Interest) {
	for _, n := range names {
		list = append(list, source.Interest{Type: typeURL, Name: n})
	}
	return list
}

func pass(d time.Duration) { <-time.NewTimer(d).C; synctest.Wait() }

// stored returns a directory with the resources a and b of revision 20, written an hour ago.
func stored(t *testing.T, key []byte) string {
	t.Helper()
	dir := safeDir(t)
	p := run(t, dir, key)
	p.fill(20, map[string]string{"a": "one", "b": "one"})
	pass(defaultQuiet)
	p.close()
	pass(time.Hour)
	return dir
}

// A process that starts without its source has the resources of the last one. When the source is there, one change
// leads to its resources.
func TestStartWithoutSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := stored(t, nil)
		p := run(t, dir, nil)
		defer p.close()
		r, _ := p.open("a", "b", "c")
		old := map[string]string{"a": "one", "b": "one", "c": "error Unavailable"}
		r.expect(t, "start", source.Stale, old)
		if age := time.Since(r.state.Since).Round(time.Second); age != time.Hour {
			t.Errorf("the resources are stale for %v, want an hour", age)
		}
		if r.last.Epoch != "epoch" || r.last.Revision != 20 {
			t.Errorf("epoch %q, revision %d; want those of the source, epoch and 20", r.last.Epoch, r.last.Revision)
		}
		p.memory.SetState(source.State{Kind: source.Down, Err: errors.New("no route")})
		r.expect(t, "source down", source.Stale, old)
		if !strings.Contains(r.state.String(), "no route") {
			t.Errorf("state = %v, want the reason of the source", r.state)
		}
		changes := r.changes
		p.fill(30, map[string]string{"a": "one", "b": "", "c": "three", "d": "four"})
		r.expect(t, "source live", source.Live, map[string]string{"a": "one", "c": "three"})
		if r.changes != changes+1 || r.last.Revision != 30 {
			t.Errorf("%d changes lead to revision %d, want one to 30", r.changes-changes, r.last.Revision)
		}
		p.fill(31, map[string]string{"a": "two"})
		r.expect(t, "later change", source.Live, map[string]string{"a": "two", "c": "three"})
		late, _ := p.open("a", "x")
		late.expect(t, "session after that", source.Live, map[string]string{"a": "two"})
		if !late.absent["x"] {
			t.Error("a name that the source does not have is not reported as missing")
		}
	})
}

// The resources of the last process are those of its last change, and not those of a source that went down.
func TestKeepsTheNewestResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := stored(t, nil)
		p := run(t, dir, nil)
		p.fill(30, map[string]string{"a": "two"})
		pass(defaultQuiet)
		p.fill(31, map[string]string{"a": "three"}) // is written by Close
		p.memory.SetState(source.State{Kind: source.Down, Err: errors.New("no route")})
		p.close()
		p = run(t, dir, nil)
		p.memory.SetState(source.State{Kind: source.Down, Err: errors.New("no route")})
		r, _ := p.open("a", "b")
		r.expect(t, "start", source.Stale, map[string]string{"a": "three", "b": "error Unavailable"})
		pass(time.Hour)
		p.close()
		p = run(t, dir, nil) // the process before did not have its source
		defer p.close()
		r, _ = p.open("a")
		r.expect(t, "start after that", source.Stale, map[string]string{"a": "three"})
	})
}

// While a source is live, the file is confirmed. The age of the resources is counted from then.
func TestConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := stored(t, nil)
		p := run(t, dir, nil)
		p.fill(20, map[string]string{"a": "one", "b": "one"})
		pass(24 * time.Hour)
		p.memory.SetState(source.State{Kind: source.Stale})
		pass(time.Hour)
		p.close()
		p = run(t, dir, nil)
		defer p.close()
		r, _ := p.open("a")
		if age := time.Since(r.state.Since); age < 59*time.Minute || age > 61*time.Minute {
			t.Errorf("the resources are stale for %v, want about an hour", age)
		}
	})
}

// A source that answers one interest after the other does not remove the resources of the file in between.
func TestWaitsForAllAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := stored(t, nil)
		p := run(t, dir, nil)
		defer p.close()
		slow := &slowSource{}
		s := &kept{inner: slow}
		snap, err := p.dir.read(nameOf("authority "), "authority ")
		if err != nil {
			t.Fatal(err)
		}
		s.old.Store(snap)
		p.source = s
		r, session := p.open("a", "b")
		slow.sink.State(source.State{Kind: source.Live})
		answer := func(name, body string) {
			t.Helper()
			ch := source.Change{Epoch: "other", Revision: 1, Complete: interests(name)}
			if body != "" {
				ch.Put = []source.Resource{{Key: source.Key{Type: typeURL, Name: name}, Body: []byte(body), Version: body}}
			}
			if err := slow.sink.Apply(ch); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		answer("a", "two")
		r.expect(t, "one of two answers", source.Stale, map[string]string{"a": "one", "b": "one"})
		session.Want(interests("c"), nil)
		answer("b", "two")
		r.expect(t, "two of three answers", source.Stale, map[string]string{"a": "one", "b": "one", "c": "error Unavailable"})
		session.Want(nil, interests("c"))
		r.expect(t, "the third is not wanted", source.Live, map[string]string{"a": "two", "b": "two"})
		session.Want(interests("d"), nil)
		answer("d", "four")
		r.expect(t, "afterwards", source.Live, map[string]string{"a": "two", "b": "two", "d": "four"})
	})
}

// A slowSource answers when the test says so.
type slowSource struct{ sink source.Sink }

func (s *slowSource) Open(_ context.Context, sink source.Sink) (source.Session, error) {
	s.sink = sink
	return slowSession{}, nil
}

type slowSession struct{}

func (slowSession) Want(_, _ []source.Interest) {}

func (slowSession) Report(source.Rejection) {}

// A server asks whether it has a revision. The answer is that of the file, and later that of the source.
func TestReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := stored(t, nil)
		p := run(t, dir, nil)
		defer p.close()
		r, session := p.open("a")
		reached := func(revision uint64) bool {
			return session.(interface {
				Reached(epoch string, revision, applied uint64) bool
			}).Reached("epoch", revision, uint64(r.changes))
		}
		check := func(when string, revision uint64) {
			t.Helper()
			if !reached(revision) || reached(revision+1) {
				t.Errorf("%s: reached %d: %t, %d: %t; want true, false", when, revision, reached(revision), revision+1, reached(revision+1))
			}
		}
		check("resources of the file", 20)
		p.fill(30, map[string]string{"a": "two"})
		check("resources of the source", 30)
		p.fill(31, map[string]string{"a": "three"})
		check("later change", 31)
		p.fill(32, map[string]string{"unrelated": "x"})
		check("unrelated change", 32)
	})
}
