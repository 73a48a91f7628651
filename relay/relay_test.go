package relay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/relay"
)

// A downstream client follows the resources of the upstream server: names of two authorities, changes,
// removals, and names that do not exist.
func TestNames(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		const eastern = "xdstp://e/test.Thing/a"
		w := newWorld(t, variant)
		w.set("a", "1")
		w.set(eastern, "2")
		c := w.downstream()
		a, _ := w.watch(c, "a")
		b, _ := w.watch(c, "b")
		e, _ := w.watch(c, eastern)
		pass(12 * time.Second)
		a.want(t, "1")
		e.want(t, "2")
		if variant == feature.TransportDelta {
			b.want(t, "does not exist")
		} else { // upstream does not say so, and must not delay the other names until they time out
			b.want(t, "not available from the control plane")
		}
		w.set("a", "3")
		w.set("b", "4")
		a.want(t, "3")
		b.want(t, "4")
		w.upstream.Delete(thingURL, "a")
		a.want(t, "3 beside removed by the control plane")
		late, _ := w.watch(w.downstream(), "a") // the relay does not keep it
		pass(20 * time.Second)
		late.want(t, "does not exist")
		if n := w.upstream.Open(); n != 1 {
			t.Errorf("%d upstream streams, want 1", n)
		}
	})
}

// Wildcards and globs are relayed as such. A name beside its collection is relayed once.
func TestCollections(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		const dir = "xdstp://e/test.Thing/dir/"
		w := newWorld(t, variant)
		w.set("a", "1")
		w.set(dir+"x", "1")
		c := w.downstream()
		glob, all := w.collect(c, dir+"*"), w.collect(c, "*")
		all.want(t, "a: 1")
		glob.want(t, "x: 1")
		x, stop := w.watch(c, dir+"x")
		x.want(t, "1")
		w.set("b", "2")
		w.set(dir+"x", "2")
		w.upstream.Delete(thingURL, "a")
		all.want(t, "a: removed by the control plane", "b: 2")
		glob.want(t, "x: 2")
		x.want(t, "2")
		stop()
		pass(2 * time.Minute) // the collection still covers the name
		w.set(dir+"x", "3")
		glob.want(t, "x: 3")
		empty := w.collect(c, "xdstp://e/test.Thing/empty/*")
		pass(time.Minute)
		empty.want(t, ": does not exist")
	})
}

func listOf(t *testing.T, entries ...*xdscorev3.CollectionEntry) []byte {
	t.Helper()
	var b []byte
	for _, e := range entries {
		raw, err := proto.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), raw)
	}
	return b
}

// A list collection is relayed as it is. Clients subscribe to its located members on their own.
func TestListCollections(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		const list = "xdstp://e/test.ThingCollection/all"
		w := newWorld(t, variant)
		located := &xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_Locator{
			Locator: &xdscorev3.ResourceLocator{Authority: "e", ResourceType: thingName, Id: "far"},
		}}
		inline := func(text string) *xdscorev3.CollectionEntry {
			return &xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_InlineEntry_{
				InlineEntry: &xdscorev3.CollectionEntry_InlineEntry{Name: "x", Resource: &anypb.Any{TypeUrl: thingURL, Value: []byte("xdstp://e/test.Thing/near|" + text)}},
			}}
		}
		set := func(entries ...*xdscorev3.CollectionEntry) {
			w.upstream.Set(listURL, memoryads.Resource{Name: list, Body: listOf(t, entries...), Wrapped: true})
		}
		w.set("xdstp://e/test.Thing/far", "1")
		set(located, inline("1"))
		members := w.collect(w.downstream(), list)
		members.want(t, "far: 1", "near: 1")
		w.set("xdstp://e/test.Thing/far", "2")
		set(located, inline("2"))
		members.want(t, "far: 2", "near: 2")
		set(located)
		members.want(t, "near: removed by the control plane")
	})
}

// While upstream is gone, the relay serves the resources that it has, and gives errors for others. It
// says that it is stale.
func TestUpstreamGoneAndBack(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		var log strings.Builder
		w := newWorld(t, variant, relay.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		w.set("a", "1")
		a, _ := w.watch(w.downstream(), "a")
		a.want(t, "1")
		wantState(t, w.relay, source.Live, "")
		w.upstream.Refuse(errors.New("maintenance"))
		w.upstream.Disconnect(errors.New("maintenance"))
		pass(10 * time.Second)
		wantState(t, w.relay, source.Stale, "memory:up is unreachable: ")
		c := w.downstream()
		late, _ := w.watch(c, "a")
		late.want(t, "1")
		other, _ := w.watch(c, "b")
		other.want(t, "not available from the control plane")
		a.want(t)
		w.set("a", "2")
		w.upstream.Refuse(nil)
		pass(3 * time.Minute)
		wantState(t, w.relay, source.Live, "")
		a.want(t, "2")
		late.want(t, "2")
		if variant == feature.TransportDelta { // state of the world cannot end an error without a resource
			other.want(t, "does not exist")
		}
		for _, line := range []string{"relayed resources are stale", "relayed resources are live again"} {
			if n := strings.Count(log.String(), line); n != 1 {
				t.Errorf("%d log lines %q, want 1", n, line)
			}
		}
	})
}

// A relay of a client that has lost its server before, and has forgotten the event of it, says that it is stale.
func TestUpstreamGoneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, feature.TransportDelta)
		other := memoryads.NewServer(memoryads.Type{URL: thingURL})
		config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "memory:up", "channel_creds": [{"type": "insecure"}]}],
			"authorities": {"o": {"xds_servers": [{"server_uri": "memory:other", "channel_creds": [{"type": "insecure"}]}]}}, "node": {"id": "me"}}`))
		if err != nil {
			t.Fatal(err)
		}
		c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypeSet(w.types),
			xdsforge.WithTransport(memoryads.Network{"memory:up": w.upstream, "memory:other": other}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		const name = "xdstp://o/test.Thing/a"
		w.set("a", "1")
		w.watch(c, "a")
		w.watch(c, name)
		pass(time.Second)
		w.upstream.Refuse(errors.New("maintenance"))
		w.upstream.Disconnect(errors.New("maintenance"))
		for i := range status.MaxEvents { // each is an event
			other.Set(thingURL, memoryads.Resource{Name: name, Body: fmt.Appendf(nil, "%s|%d", name, i)})
			pass(time.Second)
			other.Set(thingURL, memoryads.Resource{Name: name, Body: []byte(name + "|bad")})
			pass(time.Minute)
		}
		r, err := relay.New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		pass(time.Second)
		wantState(t, r, source.Stale, "memory:up is unreachable: ")
	})
}

// The relay rejects an invalid version. Clients keep the previous one, and get the reason if there is
// none.
func TestUpstreamNACK(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		w := newWorld(t, variant)
		w.set("a", "1")
		c := w.downstream()
		a, _ := w.watch(c, "a")
		a.want(t, "1")
		w.set("a", "bad")
		w.set("b", "bad")
		b, _ := w.watch(c, "b")
		b.want(t, "not available from the control plane")
		a.want(t)
		if n := w.upstream.Rejections(thingURL); len(n) == 0 || !strings.Contains(n[0], "a bad thing") {
			t.Errorf("upstream gets the NACKs %q, want one of a bad thing", n)
		}
		late, _ := w.watch(w.downstream(), "a")
		late.want(t, "1")
		w.set("a", "2")
		w.set("b", "2")
		a.want(t, "2")
		b.want(t, "2")
	})
}

// Errors of the control plane reach the clients (xRFC TP3).
func TestUpstreamErrors(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		w := newWorld(t, variant)
		w.upstream.Set(thingURL, memoryads.Resource{Name: "a", Error: &rpcstatus.Status{Code: 7, Message: "not yours"}},
			memoryads.Resource{Name: "b", Error: &rpcstatus.Status{Code: 14, Message: "later"}})
		c := w.downstream()
		a, _ := w.watch(c, "a")
		b, _ := w.watch(c, "b")
		a.want(t, "refused by the control plane")
		b.want(t, "not available from the control plane")
	})
}

// Resources of types that nobody registered are relayed only with AllowUnknown.
func TestAllowUnknown(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		w := newWorld(t, variant)
		w.upstream.Set(unknownURL, memoryads.Resource{Name: "u", Body: []byte{0xff}, Wrapped: true})
		sink := newRecorder()
		s, err := w.relay.Open(t.Context(), sink)
		if err != nil {
			t.Fatal(err)
		}
		s.Want([]source.Interest{{Type: unknownURL, Name: "u"}, {Type: "type.googleapis.com/test.Other", Name: "o"}}, nil)
		pass(time.Second)
		sink.want(t, `o: type = "type.googleapis.com/test.Other"; must be registered`, "u = \xff")
	})
}

// Upstream subscriptions are the union of the downstream ones. They stay for the time of WithLinger.
func TestLinger(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		w := newWorld(t, variant)
		w.set("a", "1")
		first, second := w.downstream(), w.downstream()
		a1, stop1 := w.watch(first, "a")
		a2, stop2 := w.watch(second, "a")
		a1.want(t, "1")
		a2.want(t, "1")
		w.wantSubscribed("a")
		stop1()
		pass(2 * time.Minute)
		w.wantSubscribed("a") // of the second client
		stop2()
		pass(50 * time.Second)
		if s := w.relay.Status(); s.Subscriptions != 1 || s.Lingering != 1 {
			t.Errorf("status = %+v, want one lingering subscription", s)
		}
		a3, stop3 := w.watch(w.downstream(), "a")
		a3.want(t, "1")
		pass(time.Minute)
		w.wantSubscribed("a")
		stop3()
		pass(2 * time.Minute)
		w.wantSubscribed()
		if s := w.relay.Status(); s.Subscriptions+s.Lingering != 0 {
			t.Errorf("status = %+v, want no subscription", s)
		}
		_ = second.Close()
	})
}

func (w *world) wantSubscribed(names ...string) {
	w.t.Helper()
	if got := w.upstream.SubscribedTo(thingURL); !slices.Equal(got, names) {
		w.t.Errorf("upstream subscriptions %q, want %q", got, names)
	}
}

// At the limit, lingering subscriptions make room. Without one, clients get an error until another
// subscription ends.
func TestMaxSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, feature.TransportDelta, relay.WithMaxSubscriptions(2))
		for _, name := range []string{"a", "b", "c", "d"} {
			w.set(name, "1")
		}
		c := w.downstream()
		_, stopA := w.watch(c, "a")
		_, stopB := w.watch(c, "b")
		pass(time.Second)
		stopA()
		pass(time.Second)
		third, _ := w.watch(c, "c") // replaces a, which lingers
		third.want(t, "1")
		w.wantSubscribed("b", "c")
		fourth, _ := w.watch(c, "d")
		fourth.want(t, "not available from the control plane")
		if s := w.relay.Status(); s.Waiting != 1 || s.Subscriptions != 2 {
			t.Errorf("status = %+v, want two subscriptions and one that waits", s)
		}
		stopB()
		pass(2 * time.Minute)
		fourth.want(t, "1")
		w.wantSubscribed("c", "d")
	})
}

// A name that waits for the limit does not hide the resource of a collection: neither from the clients of the collection, nor from
// the one of the name.
func TestWaitingNameOfACollection(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		w := newWorld(t, variant, relay.WithMaxSubscriptions(1))
		w.set("a", "1")
		all := w.collect(w.downstream(), "*")
		all.want(t, "a: 1")
		a, _ := w.watch(w.downstream(), "a")
		a.want(t, "1")
		w.set("a", "2")
		a.want(t, "2")
		all.want(t, "a: 2")
	})
}

// A name that waits for the limit is forgotten with its last client, so that it takes no part in the choice of a lingering
// subscription that makes room.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, feature.TransportDelta, relay.WithMaxSubscriptions(1))
		w.set("a", "1")
		w.set("b", "1")
		c := w.downstream()
		_, stopA := w.watch(c, "a")
		pass(time.Second)
		for i := range 20 {
			_, stop := w.watch(c, fmt.Sprint("waiting", i))
			pass(time.Second)
			stop()
			pass(time.Second)
		}
		if s := w.relay.Status(); s.Waiting != 0 || s.Lingering != 0 {
			t.Errorf("status = %+v, want no name that waits or lingers", s)
		}
		stopA()
		pass(time.Second)
		events, _ := w.watch(c, "b") // replaces a, which lingers
		events.want(t, "1")
		w.wantSubscribed("b")
	})
}

// A thousand clients need one upstream stream and one subscription to each resource.
func TestManyClients(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		w := newWorld(t, variant)
		w.set("a", "1")
		w.set("b", "1")
		events := make([]*eventLog, 1000)
		for i := range events {
			events[i], _ = w.watch(w.downstream(), []string{"a", "b"}[i%2])
		}
		pass(time.Second)
		w.upstream.Set(thingURL, memoryads.Resource{Name: "a", Body: []byte("a|2")}, memoryads.Resource{Name: "b", Body: []byte("b|2")})
		pass(time.Second)
		for i, e := range events {
			if got := fmt.Sprint(e.list); got != "[1 2]" {
				t.Fatalf("client %d has the events %s, want [1 2]", i, got)
			}
		}
		if streams, _ := w.upstream.Opened(); streams != 1 || w.upstream.Connections() != 1 {
			t.Errorf("%d upstream streams, %d connections; want 1", streams, w.upstream.Connections())
		}
		subscribes := 0
		for _, m := range w.upstream.Requests() {
			switch r := m.(type) {
			case *discoveryv3.DeltaDiscoveryRequest:
				subscribes += len(r.GetResourceNamesSubscribe())
			case *discoveryv3.DiscoveryRequest:
				subscribes = max(subscribes, len(r.GetResourceNames()))
			}
		}
		if subscribes != 2 {
			t.Errorf("%d names subscribed to upstream, want 2", subscribes)
		}
	})
}

// The NACK of a downstream client reaches the program. Upstream does not get it.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got source.Rejection
		w := newWorld(t, feature.TransportDelta, relay.WithRejections(func(x source.Rejection) { got = x }))
		s, err := w.relay.Open(t.Context(), newRecorder())
		if err != nil {
			t.Fatal(err)
		}
		s.Report(source.Rejection{Type: thingURL, Names: []string{"a"}, Text: "no"})
		if n := w.relay.Status().Rejections; n != 1 || got.Text != "no" {
			t.Errorf("%d rejections, the last %+v; want one", n, got)
		}
	})
}

// After Close, and after the end of the client, the relay is down.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, feature.TransportDelta)
		sink := newRecorder()
		s, err := w.relay.Open(t.Context(), sink)
		if err != nil {
			t.Fatal(err)
		}
		s.Want([]source.Interest{{Type: thingURL, Name: "a"}}, nil)
		_ = w.client.Close()
		pass(time.Second)
		wantState(t, w.relay, source.Down, "the client is closed")
		_ = w.relay.Close()
		wantState(t, w.relay, source.Down, "relay: closed")
		if _, err := w.relay.Open(t.Context(), sink); err == nil {
			t.Error("a closed relay opens a session")
		}
		if err := w.relay.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestMisuse(t *testing.T) {
	c := newWorldlessClient(t)
	for want, f := range map[string]func() (*relay.Relay, error){
		"the client must be made by": func() (*relay.Relay, error) { return relay.New(nil) },
		"client must be made":        func() (*relay.Relay, error) { return relay.New(new(xdsforge.Client)) },
		"WithLinger = -1s":           func() (*relay.Relay, error) { return relay.New(c, relay.WithLinger(-time.Second)) },
		"WithMaxSubscriptions = 0":   func() (*relay.Relay, error) { return relay.New(c, relay.WithMaxSubscriptions(0)) },
	} {
		if r, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, %v; want an error about %s", r, err, want)
		}
	}
}

func newWorldlessClient(t *testing.T) *xdsforge.Client {
	t.Helper()
	w := &world{t: t}
	var err error
	if w.types, err = resource.NewSet(newThing()); err != nil {
		t.Fatal(err)
	}
	return w.newClient(xdsforge.WithTransport(memoryads.Network{}))
}

// A recorder is a sink that keeps the resources.
type recorder struct {
	log eventLog
}

func newRecorder() *recorder { return new(recorder) }

// Apply implements source.Sink.
func (r *recorder) Apply(c source.Change) error {
	for _, x := range c.Put {
		if x.Err != nil {
			r.log.add(x.Name + ": " + x.Err.GetMessage())
		} else {
			r.log.add(x.Name + " = " + string(x.Body))
		}
	}
	for _, k := range c.Delete {
		r.log.add(k.Name + " is gone")
	}
	return context.Cause(context.Background())
}

// State implements source.Sink.
func (r *recorder) State(source.State) {}

// want compares the changes, each by the beginning of its text.
func (r *recorder) want(t *testing.T, want ...string) {
	t.Helper()
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	slices.Sort(r.log.list)
	if !slices.EqualFunc(r.log.list, want, func(got, want string) bool { return strings.Contains(strings.ReplaceAll(got, "relay: ", ""), want) }) {
		t.Errorf("changes %q, want %q", r.log.list, want)
	}
}
