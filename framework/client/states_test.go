package client_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/internal/memoryads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// An equalUpdate is a thing that can be compared with one of another server.
type equalUpdate struct{ *update }

func (u *equalUpdate) Equal(o *equalUpdate) bool { return u.tag == o.tag }

// equals are things whose updates are comparable.
var equals = resource.Define(resource.Spec[*equalUpdate]{
	Name: things.Name, Complete: true, Wildcard: true, Globs: true, PeekName: things.PeekName,
	NewShard: func() resource.Shard { return runtime.NewShard[*equalUpdate]() },
	Decode: func(dc *resource.DecodeContext, body []byte) (*equalUpdate, error) {
		u, err := things.Decode(dc, body)
		if err != nil {
			return nil, err
		}
		return &equalUpdate{u.(*update)}, nil
	},
})

// A stateWorld is a client with a primary and a fallback server, and the events of its watches.
type stateWorld struct {
	t                 *testing.T
	primary, fallback *memoryads.Server
	config            *bootstrap.Config
	types             *resource.Set
	network           memoryads.Network
	client            *client.Client
	watched           resource.Client // the client

	mu     sync.Mutex
	events []resource.MemberEvent[*equalUpdate]
	ended  bool
}

func inStates(t *testing.T, f func(w *stateWorld), features ...any) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(resource.Describe(equals))
		if err != nil {
			t.Fatal(err)
		}
		of := memoryads.Type{URL: equals.URL(), Complete: true, Wildcard: true}
		w := &stateWorld{t: t, primary: memoryads.NewServer(of), fallback: memoryads.NewServer(of)}
		servers := []bootstrap.ServerSpec{server("memory:1", features...), server("memory:2")}
		spec := bootstrap.Spec{Servers: servers, Authorities: map[string]bootstrap.AuthoritySpec{"e": {Servers: servers}}}
		w.config, w.types, w.network = config(t, spec), types, memoryads.Network{"memory:1": w.primary, "memory:2": w.fallback}
		if w.client, err = newWith(w.config, w.types, withTransport(w.network)); err != nil {
			t.Fatal(err)
		}
		first := w.client
		defer func() { _ = first.Close() }()
		w.watched = w.client
		f(w)
	})
}

// set gives a server a version of the thing a.
func (w *stateWorld) set(s *memoryads.Server, tag string) { s.Set(equals.URL(), thing("a", tag)) }

// lose makes the primary unreachable.
func (w *stateWorld) lose() {
	w.primary.Refuse(errors.New("refused"))
	w.primary.Disconnect(errors.New("cut"))
	pass(10 * time.Second)
}

func (w *stateWorld) watch(typ resource.TypeOf[*equalUpdate], name string) {
	go func() {
		for ev := range typ.Watch(w.t.Context(), w.watched, name) {
			w.add(resource.MemberEvent[*equalUpdate]{Event: ev})
		}
		w.end()
	}()
	pass(time.Second)
}

func (w *stateWorld) gather(name string) {
	go func() {
		for ev := range equals.WatchCollection(w.t.Context(), w.watched, name) {
			w.add(ev)
		}
		w.end()
	}()
	pass(time.Second)
}

func (w *stateWorld) add(ev resource.MemberEvent[*equalUpdate]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
}

func (w *stateWorld) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// describeEvent returns the columns of the table of states.
func describeEvent(ev resource.MemberEvent[*equalUpdate]) string {
	value := "-"
	if ev.Update != nil {
		value = ev.Update.tag
	}
	text := fmt.Sprintf("%s | %s | %s | %v | %v", value, kindOfEvent(ev.Err), kindOfEvent(ev.Ambient), ev.Changed, ev.Origin)
	if ev.Synced {
		text += " | synced"
	}
	return text
}

func kindOfEvent(err error) string {
	for _, k := range []error{
		resource.ErrRemoved, resource.ErrNotFound, resource.ErrInvalid, resource.ErrTransport, resource.ErrClosed, resource.ErrUnknownType,
	} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	if err != nil {
		return "misuse"
	}
	return ""
}

// open returns a client of the world with a last known good store.
func (w *stateWorld) open(dir string) (c *client.Client, store *lkg.Store) {
	w.t.Helper()
	store, err := lkg.Open(lkg.Options{Dir: dir}, lkg.Node{ID: "node-1", Cluster: "tests"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = store.Close() })
	c, err = newWith(w.config, w.types, withTransport(w.network), func(o *client.Options) { o.Store = store })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c, store
}

// keep lets a client with a store watch the thing a and all things, and ends it.
func (w *stateWorld) keep(tag string) (dir string) {
	w.t.Helper()
	dir = filepath.Join(w.t.TempDir(), "lkg")
	w.set(w.primary, tag)
	c, store := w.open(dir)
	for _, name := range []string{"a", "other"} {
		if _, err := equals.Subscribe(c, name, func(resource.Event[*equalUpdate]) {}); err != nil {
			w.t.Fatal(err)
		}
	}
	go func() {
		for range equals.WatchCollection(w.t.Context(), c, "*") {
		}
	}()
	pass(time.Minute)
	if err := errors.Join(c.Close(), store.Close()); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// fromDisk starts a client whose only server is the store, and returns the function that makes the
// primary reachable.
func (w *stateWorld) fromDisk() (confirm func()) {
	dir := w.keep("1")
	w.primary.Refuse(errors.New("refused"))
	w.fallback.Refuse(errors.New("refused"))
	w.client, _ = w.open(dir)
	w.watched = w.client
	return func() {
		w.primary.Refuse(nil)
		pass(time.Minute)
	}
}

// TestStates checks the event of each state: update, error, ambient error, changed, origin.
func TestStates(t *testing.T) {
	usable := func(w *stateWorld) {
		w.set(w.primary, "1")
		w.watch(equals, "a")
	}
	fallBack := func(tag string) func(w *stateWorld) {
		return func(w *stateWorld) {
			usable(w)
			w.set(w.fallback, tag)
			w.lose()
			_, err := equals.Subscribe(w.client, "uncached", func(resource.Event[*equalUpdate]) {})
			if err != nil {
				w.t.Fatal(err)
			}
			pass(time.Minute)
		}
	}
	gathered := func(w *stateWorld) {
		w.set(w.primary, "1")
		w.gather("*")
	}
	for _, row := range []struct {
		state    string
		do       func(w *stateWorld)
		want     string
		member   string // its name; "" for a resource or a collection as a whole
		last     bool   // the sequence ends
		features []any
	}{
		{state: "usable, new", do: usable, want: "1 |  |  | true | primary"},
		{state: "usable, other", do: func(w *stateWorld) {
			usable(w)
			w.set(w.primary, "2")
			pass(time.Second)
		}, want: "2 |  |  | true | primary"},
		{state: "no usable resource, without an earlier one", do: func(w *stateWorld) {
			w.watch(equals, "a")
			pass(time.Minute)
		}, want: "- | does not exist |  | false | none"},
		{state: "no usable resource, after one", features: []any{feature.FailOnDataErrors}, do: func(w *stateWorld) {
			usable(w)
			w.primary.Delete(equals.URL(), "a")
			pass(time.Second)
		}, want: "- | removed by the control plane |  | true | none"},
		{state: "an ambient error begins", do: func(w *stateWorld) {
			usable(w)
			w.lose()
		}, want: "1 |  | control plane unreachable | false | primary"},
		{state: "another ambient error", do: func(w *stateWorld) {
			usable(w)
			w.set(w.primary, "bad")
			pass(time.Second)
			w.primary.Delete(equals.URL(), "a")
			pass(time.Second)
		}, want: "1 |  | removed by the control plane | false | primary"},
		{state: "the ambient error is over", do: func(w *stateWorld) {
			usable(w)
			w.lose()
			w.primary.Refuse(nil)
			pass(time.Minute)
		}, want: "1 |  |  | false | primary"},
		{state: "read from the disk", do: func(w *stateWorld) {
			w.fromDisk()
			w.watch(equals, "a")
		}, want: "1 |  | control plane unreachable | true | stored"},
		{state: "not on the disk", do: func(w *stateWorld) {
			w.fromDisk()
			w.watch(equals, "b")
		}, want: "- | control plane unreachable |  | false | none"},
		{state: "did not exist when the disk was written", do: func(w *stateWorld) {
			w.fromDisk()
			w.watch(equals, "other")
		}, want: "- | control plane unreachable |  | false | none"},
		{state: "a server confirmed it, same bytes", do: func(w *stateWorld) {
			confirm := w.fromDisk()
			w.watch(equals, "a")
			confirm()
		}, want: "1 |  |  | false | primary"},
		{state: "a server replaced it, other bytes", do: func(w *stateWorld) {
			confirm := w.fromDisk()
			w.watch(equals, "a")
			w.set(w.primary, "2")
			confirm()
		}, want: "2 |  |  | true | primary"},
		{state: "the server does not have it any more", do: func(w *stateWorld) {
			confirm := w.fromDisk()
			w.watch(equals, "a")
			w.primary.Delete(equals.URL(), "a")
			w.primary.Set(equals.URL(), thing("b", "1"))
			confirm()
		}, want: "1 |  | removed by the control plane | false | stored"},
		{state: "a member from the disk", do: func(w *stateWorld) {
			w.fromDisk()
			w.gather("*")
		}, member: "a", want: "1 |  | control plane unreachable | true | stored | synced"},
		{state: "a member confirmed, same bytes", do: func(w *stateWorld) {
			confirm := w.fromDisk()
			w.gather("*")
			confirm()
		}, member: "a", want: "1 |  |  | false | primary | synced"},
		{state: "a collection that is not on the disk", do: func(w *stateWorld) {
			w.fromDisk()
			w.gather("xdstp://e/test.Thing/g/*")
		}, want: "- | control plane unreachable |  | false | none"},
		{state: "fallback, same bytes", do: fallBack("1"), want: "1 |  |  | false | fallback"},
		{state: "fallback, other bytes", do: fallBack("2"), want: "2 |  |  | true | fallback"},
		{state: "a member", do: gathered, member: "a", want: "1 |  |  | true | primary | synced"},
		{state: "a member is gone", do: func(w *stateWorld) {
			gathered(w)
			w.primary.Delete(equals.URL(), "a")
			pass(time.Second)
		}, member: "a", want: "- | removed by the control plane |  | true | none | synced"},
		{state: "a collection without members", do: func(w *stateWorld) { w.gather("*") }, want: "- |  |  | false | none | synced"},
		{state: "collection unusable", do: func(w *stateWorld) {
			w.gather("xdstp://e/test.Thing/g/*")
			pass(time.Minute)
		}, want: "- | does not exist |  | false | none"},
		{state: "collection troubled", do: func(w *stateWorld) {
			gathered(w)
			w.lose()
		}, want: "- |  | control plane unreachable | false | none | synced"},
		{state: "name malformed", do: func(w *stateWorld) { w.watch(equals, "xdstp:/a") }, want: "- | misuse |  | false | none", last: true},
		{state: "type unknown", do: func(w *stateWorld) {
			w.watch(resource.Define(resource.Spec[*equalUpdate]{Name: "test.Unknown"}), "a")
		}, want: "- | unknown resource type |  | false | none", last: true},
		{state: "client closed", do: func(w *stateWorld) {
			usable(w)
			_ = w.client.Close()
			pass(time.Second)
		}, want: "- | closed |  | true | none", last: true},
		{state: "client closed under a collection", do: func(w *stateWorld) {
			gathered(w)
			_ = w.client.Close()
			pass(time.Second)
		}, want: "- | closed |  | false | none | synced", last: true},
	} {
		t.Run(row.state, func(t *testing.T) {
			inStates(t, func(w *stateWorld) {
				row.do(w)
				w.mu.Lock()
				defer w.mu.Unlock()
				w.check(row.member, row.want)
				if w.ended != row.last {
					t.Errorf("the sequence has ended: %v", w.ended)
				}
			}, row.features...)
		})
	}
}

// check compares the last event of a member, or of the resource or collection as a whole. Each
// event must keep the promise of its fields.
func (w *stateWorld) check(member, want string) {
	w.t.Helper()
	var all []string
	got := ""
	for _, ev := range w.events {
		all = append(all, describeEvent(ev))
		if ev.Name.String() == member {
			got = all[len(all)-1]
		}
		whole := ev.Name.IsZero() && ev.Update == nil && ev.Err == nil && (ev.Ambient != nil || ev.Synced)
		if (ev.Update == nil) == (ev.Err == nil) && !whole || (ev.Update == nil) != (ev.Origin == resource.OriginNone) || ev.Err != nil && ev.Ambient != nil {
			w.t.Errorf("fields contradict each other: %s", describeEvent(ev))
		}
	}
	if got != want {
		w.t.Errorf("the last event is %q, want %q; all: %q", got, want, all)
	}
}

// TestConfirmedUpdateKeepsItsPointer expects the pointer of a stored update to stay.
func TestConfirmedUpdateKeepsItsPointer(t *testing.T) {
	inStates(t, func(w *stateWorld) {
		confirm := w.fromDisk()
		w.watch(equals, "a")
		confirm()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.events) != 2 || w.events[0].Update != w.events[1].Update {
			t.Errorf("events %v; want two with one pointer", w.events)
		}
	})
}

// TestCallbacksEndWithTheClient expects no callback for the end of the client, as documented.
func TestCallbacksEndWithTheClient(t *testing.T) {
	inStates(t, func(w *stateWorld) {
		w.set(w.primary, "1")
		var events []resource.Event[*equalUpdate]
		if _, err := equals.Subscribe(w.client, "a", func(ev resource.Event[*equalUpdate]) { events = append(events, ev) }); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		_ = w.client.Close()
		pass(time.Second)
		if len(events) != 1 || events[0].Update == nil {
			t.Errorf("events %v; want the resource alone", events)
		}
	})
}
