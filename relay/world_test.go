package relay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsmemory"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	thingName  = "test.Thing"
	thingURL   = "type.googleapis.com/test.Thing"
	listURL    = "type.googleapis.com/test.ThingCollection"
	unknownURL = "type.googleapis.com/test.Unknown"
)

// A value is the update of a thing.
type value struct {
	resource.Meta
	text string
}

// newThing returns a type with every kind of collection. The body of a resource is its name and its
// text.
func newThing() *resource.Descriptor {
	return &resource.Descriptor{
		Name: thingName, Complete: true, Wildcard: true, Globs: true, Collection: "test.ThingCollection",
		NewShard: func() resource.Shard { return runtime.NewShard[*value]() },
		PeekName: func(b []byte) (string, error) {
			name, _, _ := strings.Cut(string(b), "|")
			return name, nil
		},
		Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
			_, text, _ := strings.Cut(string(body), "|")
			if text == "bad" {
				return nil, errors.New("a bad thing")
			}
			return &value{dc.Meta(slices.Clone(body)), text}, nil
		},
	}
}

// A world is a strict control plane, a relay of its resources, and a server of the relay.
type world struct {
	t        *testing.T
	variant  string // feature of server entries
	thing    *resource.Descriptor
	types    *resource.Set
	upstream *memoryads.Server
	relay    *relay.Relay
	core     *adsserver.Core
	client   *xdsforge.Client // of the relay
}

func newWorld(t *testing.T, variant string, opts ...relay.Option) *world {
	t.Helper()
	w := &world{t: t, variant: variant, thing: newThing()}
	reg := registry.New()
	reg.Register(w.thing.Handle())
	relay.AllowUnknown("test.Unknown")(reg)
	var err error
	if w.types, err = reg.Freeze(); err != nil {
		t.Fatal(err)
	}
	w.upstream = memoryads.NewServer(memoryads.Type{URL: thingURL, Complete: true, Wildcard: true},
		memoryads.Type{URL: listURL}, memoryads.Type{URL: unknownURL, Wildcard: true})
	w.client = w.newClient(xdsforge.WithTransport(memoryads.Network{"memory:up": w.upstream}))
	if w.relay, err = relay.New(w.client, opts...); err != nil {
		t.Fatal(err)
	}
	if w.core, err = adsserver.New(adsserver.Config{Source: w.relay, Type: adsserver.TypesOf(w.types)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.core.Close()
		_ = w.relay.Close()
		if v := w.upstream.Violations(); len(v) > 0 {
			t.Errorf("the relay broke the protocol: %q", v)
		}
	})
	return w
}

// newClient returns a client of the world's variant, with servers for old-style names and for the
// authority "e".
func (w *world) newClient(opt xdsforge.Option) *xdsforge.Client {
	w.t.Helper()
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": "memory:up", "channel_creds": [{"type": "insecure"}],
		"server_features": [%q]}], "authorities": {"e": {}}, "node": {"id": "me"}}`, w.variant))
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypeSet(w.types), opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// downstream returns a client of the relay.
func (w *world) downstream() *xdsforge.Client {
	w.t.Helper()
	return w.newClient(xdsforge.WithTransport(adsmemory.Transport{Core: w.core}))
}

func (w *world) set(name, text string) {
	w.upstream.Set(thingURL, memoryads.Resource{Name: name, Body: []byte(name + "|" + text)})
}

// each runs a test in both variants of the protocol.
func each(t *testing.T, f func(t *testing.T, variant string)) {
	for _, variant := range []string{"xds_v3", feature.TransportDelta} {
		t.Run(variant, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, variant) })
		})
	}
}

// pass lets time pass, until all goroutines wait.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// An eventLog has the events of watches as texts.
type eventLog struct {
	mu   sync.Mutex
	list []string
}

func (l *eventLog) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, text)
}

// want compares the sorted events since the last call.
func (l *eventLog) want(t *testing.T, want ...string) {
	t.Helper()
	pass(time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.list)
	if !slices.Equal(l.list, want) {
		t.Errorf("events %q, want %q", l.list, want)
	}
	l.list = nil
}

// watch records the events of a thing until stop is called.
func (w *world) watch(c *xdsforge.Client, name string) (events *eventLog, stop func()) {
	w.t.Helper()
	events = new(eventLog)
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	go func() {
		for ev := range w.thing.Handle().Watch(ctx, c, name) {
			events.add(describe(ev))
		}
	}()
	return events, cancel
}

// collect records the events of the members of a collection.
func (w *world) collect(c *xdsforge.Client, name string) *eventLog {
	w.t.Helper()
	events := new(eventLog)
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	go func() {
		for ev := range w.thing.Handle().WatchCollection(ctx, c, name) {
			member := ev.Name.String()
			events.add(member[strings.LastIndexByte(member, '/')+1:] + ": " + describe(ev.Event))
		}
	}()
	return events
}

func describe(ev resource.Event[resource.Update]) string {
	switch {
	case ev.Err != nil:
		return kindOf(ev.Err)
	case ev.Update == nil:
		return "synced"
	case ev.Ambient != nil:
		return ev.Update.(*value).text + " beside " + kindOf(ev.Ambient)
	}
	return ev.Update.(*value).text
}

func kindOf(err error) string {
	for _, kind := range []error{
		resource.ErrRemoved, resource.ErrNotFound, resource.ErrInvalid, resource.ErrTransport, resource.ErrDenied, resource.ErrUnavailable,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}

func wantState(t *testing.T, r *relay.Relay, kind source.StateKind, text string) {
	t.Helper()
	if s := r.Status().State; s.Kind != kind || !strings.Contains(s.String(), text) || (kind == source.Stale) == s.Since.IsZero() {
		t.Errorf("the relay is %v since %v, want %v with %q", s, s.Since, kind, text)
	}
}
