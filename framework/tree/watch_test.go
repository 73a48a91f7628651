package tree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/cache"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A page is a resource that consists of the names of others: "name|tag|link link". Links
// to "?x" are of a type that the client does not have.
type page struct {
	resource.Meta
	tag string
}

var pages = &resource.Type{
	Name: "test.Page",
	PeekName: func(b []byte) (string, error) {
		name, _, _ := strings.Cut(string(b), "|")
		return name, nil
	},
	Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
		parts := strings.Split(string(body), "|")
		p := &page{Meta: dc.Meta(body), tag: parts[1]}
		var v resource.Violations
		for link := range strings.FieldsSeq(parts[2]) {
			message := "test.Page"
			if link[0] == '?' {
				message = "test.Unknown"
			}
			dc.Ref(&p.Meta, &v, (*resource.Path)(nil).Field("links"), message, &link)
		}
		if p.tag == "broken" {
			v.Add((*resource.Path)(nil).Field("tag"), p.tag, "must not be broken")
		}
		return p, v.Err()
	},
	NewShard: func() resource.Shard { return cache.NewShard[*page]() },
}

// A world is a client, its control plane, and the tree of the page "root".
type world struct {
	*testing.T
	server *memoryads.Server
	client *client.Client
	limit  int
	stop   context.CancelFunc
	done   chan error

	mu   sync.Mutex
	got  []string // the snapshots, in words
	last *Snapshot
}

// explore runs a test of a tree on a clock of its own.
func explore(t *testing.T, limit int, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: memoryads.NewServer(memoryads.Type{URL: pages.URL()}), limit: limit, done: make(chan error, 1)}
		config, err := bootstrap.New(bootstrap.Spec{Servers: []bootstrap.ServerSpec{{
			URI: "memory:1", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		types, err := resource.NewSet(pages)
		if err != nil {
			t.Fatal(err)
		}
		if w.client, err = client.New(config, types, client.WithTransport(memoryads.Network{"memory:1": w.server})); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		w.stop = stop
		go func() { w.done <- w.follow(ctx) }()
		test(w)
		stop()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		if err := w.client.Close(); err != nil {
			t.Error(err)
		}
		if v := w.server.Violations(); len(v) > 0 {
			t.Errorf("the client broke the protocol: %q", v)
		}
	})
}

func (w *world) follow(ctx context.Context) (err error) {
	f := newFollower(w.client, w.limit)
	f.watch(ctx, pages, "root", func(s *Snapshot, e error) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err = e; s != nil {
			w.got, w.last = append(w.got, describe(s)), s
		}
		return err == nil
	})
	return err
}

// describe writes a snapshot as "root:1 a:1 b!does not exist".
func describe(s *Snapshot) string {
	var words []string
	for r, state := range s.All() {
		word := r.Name.String()
		if p, ok := state.Update.(*page); ok {
			word += ":" + p.tag
		}
		for _, kind := range []error{resource.ErrNotFound, resource.ErrInvalid, resource.ErrTransport, resource.ErrUnknownType, ErrTooLarge} {
			if errors.Is(state.Err, kind) {
				word += "!" + kind.Error()
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// set gives the control plane pages, each "name|tag|links".
func (w *world) set(bodies ...string) {
	var all []memoryads.Resource
	for _, b := range bodies {
		name, _, _ := strings.Cut(b, "|")
		all = append(all, memoryads.Resource{Name: name, Body: []byte(b)})
	}
	w.server.Set(pages.URL(), all...)
}

// wants checks the snapshots that came since the last time, once everything is quiet.
func (w *world) wants(want ...string) {
	w.Helper()
	<-time.NewTimer(time.Second).C // the client may wait with a request
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.got, want) {
		w.Errorf("snapshots\n%q; must be\n%q", w.got, want)
	}
	w.got = nil
}

func TestOnlyWhatIsCompleteIsYielded(t *testing.T) {
	explore(t, MaxResources, func(w *world) {
		w.wants()
		w.set("root|1|a b")
		w.wants()
		w.set("a|1|c", "b|1|c") // both lead to the same
		w.wants()
		w.set("c|1|root ?x") // and that back to the root
		w.wants("root:1 a:1 b:1 c:1 ?x!unknown resource type")
		w.set("c|2|")
		w.wants("root:1 a:1 b:1 c:2")
		w.set("unrelated|1|")
		w.wants()
	})
}

func TestTheOldTreeStaysUntilTheNewOneIsThere(t *testing.T) {
	explore(t, MaxResources, func(w *world) {
		w.set("root|1|old", "old|1|")
		w.wants("root:1 old:1")
		w.set("root|2|new")
		w.wants()
		if !w.watches("old") {
			t.Error("what calls still use is not watched any longer")
		}
		w.set("new|1|")
		w.wants("root:2 new:1")
		if w.watches("old") {
			t.Error("what nobody refers to is still watched")
		}
	})
}

// watches reports whether the client has a page cached, which it has while it is watched.
func (w *world) watches(name string) bool {
	_, ok := resource.LookupString[*page](w.client, pages, name)
	return ok
}

func TestErrorsAreKnownToo(t *testing.T) {
	explore(t, MaxResources, func(w *world) {
		w.set("root|1|a b", "a|1|")
		w.wants()
		<-time.NewTimer(15 * time.Second).C // gRFC A57
		w.wants("root:1 a:1 b!does not exist")
		w.set("b|1|")
		w.wants("root:1 a:1 b:1")
		w.set("b|broken|") // the old one stays valid
		w.wants("root:1 a:1 b:1!invalid")
		w.set("b|2|")
		w.wants("root:1 a:1 b:2")
		w.set("root|broken|")
		w.wants("root:1!invalid a:1 b:2")
	})
	explore(t, MaxResources, func(w *world) {
		<-time.NewTimer(15 * time.Second).C
		w.wants("root!does not exist")
	})
}

func TestTreesAreBounded(t *testing.T) {
	explore(t, 3, func(w *world) {
		w.set("root|1|a b c", "a|1|", "b|1|", "c|1|")
		w.wants("root:1 a:1 b:1 c!the tree of resources is too large")
		w.set("root|2|c d", "d|1|") // what was there before takes no room from it
		w.wants("root:2 c:1 d:1")
	})
}

func TestEnds(t *testing.T) {
	explore(t, MaxResources, func(w *world) {
		w.set("root|1|a", "a|1|")
		w.wants("root:1 a:1")
		w.stop()
		synctest.Wait()
		if w.watches("root") || w.watches("a") {
			t.Error("an iteration that has ended still watches")
		}
	})
	explore(t, MaxResources, func(w *world) {
		w.set("root|1|a", "a|1|")
		w.wants("root:1 a:1")
		_ = w.client.Close()
		select {
		case err := <-w.done:
			w.done <- err
		case <-time.NewTimer(time.Second).C:
			t.Error("the iteration goes on although the client is closed")
		}
		misuse := 0
		for s, err := range Watch(t.Context(), w.client, pages, "root") {
			misuse++
			if s != nil || !errors.Is(err, resource.ErrClosed) {
				t.Errorf("%v, %v; must be ErrClosed", s, err)
			}
		}
		if misuse != 1 {
			t.Errorf("%d steps; must be one, with the error", misuse)
		}
	})
}

func TestGet(t *testing.T) {
	explore(t, MaxResources, func(w *world) {
		w.set("root|1|a ?x", "a|1|")
		w.wants("root:1 a:1 ?x!unknown resource type")
		if p, err := Get[*page](w.last, pages, "a"); err != nil || p.tag != "1" {
			t.Errorf("a = %v, %v", p, err)
		}
		if p, err := Get[*page](w.last, pages, "b"); p != nil || !errors.Is(err, ErrNotInTree) {
			t.Errorf("b = %v, %v; must be ErrNotInTree", p, err)
		}
		if _, err := Get[*page](w.last, &resource.Type{Name: "test.Unknown"}, "?x"); !errors.Is(err, resource.ErrUnknownType) {
			t.Errorf("error = %v; must be why there is none", err)
		}
		if r := w.last.Root(); r.String() != "test.Page root" {
			t.Errorf("the root is %v", r)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = Get[*page](w.last, pages, "a") }); n > 0 {
			t.Errorf("%v allocations to read a snapshot", n)
		}
	})
}
