package xdstest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/xdstest"
)

var errGone = errors.New("the control plane is gone")

// brief describes an event in one line.
func brief(ev cluster.Event) string {
	limit := "none"
	if ev.Update != nil {
		limit = fmt.Sprint(ev.Update.MaxRequests)
	}
	return fmt.Sprintf("%s %v err=%v ambient=%v changed=%t", limit, ev.Origin, ev.Err, ev.Ambient, ev.Changed)
}

// TestFakeEvents expects a watch to yield the events of each state in the table, in order.
func TestFakeEvents(t *testing.T) {
	f, typ := xdstest.NewFake(), cluster.Type()
	one, same, two := xdstest.Decode(t, typ, eds("checkout", 1)), xdstest.Decode(t, typ, eds("checkout", 1)), xdstest.Decode(t, typ, eds("checkout", 2))
	emit := func(ev cluster.Event) { xdstest.Emit(f, typ, "checkout", ev) }
	emit(cluster.Event{Update: two})
	emit(cluster.Event{Update: one, Origin: resource.OriginStored, Ambient: errGone})
	next, stop := iter.Pull(cluster.Watch(t.Context(), f, "checkout"))
	defer stop()
	first, _ := next() // the watch begins with the newest state
	got := []string{brief(first)}
	emit(cluster.Event{Update: one})
	emit(cluster.Event{Update: same, Origin: resource.OriginFallback})
	emit(cluster.Event{Update: two, Ambient: errGone})
	emit(cluster.Event{Err: xdsforge.ErrNotFound})
	emit(cluster.Event{Err: xdsforge.ErrDenied})
	emit(cluster.Event{Update: &cluster.Update{MaxRequests: 3}})
	_ = f.Close()
	for ev, ok := next(); ok; ev, ok = next() {
		got = append(got, brief(ev))
	}
	if want := []string{
		"1 stored err=<nil> ambient=the control plane is gone changed=true",
		"1 primary err=<nil> ambient=<nil> changed=false",
		"1 fallback err=<nil> ambient=<nil> changed=false",
		"2 primary err=<nil> ambient=the control plane is gone changed=true",
		"none none err=" + xdsforge.ErrNotFound.Error() + " ambient=<nil> changed=true",
		"none none err=" + xdsforge.ErrDenied.Error() + " ambient=<nil> changed=false",
		"3 primary err=<nil> ambient=<nil> changed=true",
		"none none err=xdstest: " + xdsforge.ErrClosed.Error() + " ambient=<nil> changed=true",
	}; !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := cluster.Get(t.Context(), f, "checkout"); !errors.Is(err, xdsforge.ErrClosed) {
		t.Errorf("Get after Close: %v; want closed", err)
	}
}

// TestFakeGet expects Get to wait for a state and to end with its context.
func TestFakeGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := xdstest.NewFake()
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error)
		go func() { _, err := cluster.Get(ctx, f, "checkout"); got <- err }()
		synctest.Wait()
		xdstest.Emit(f, cluster.Type(), "other", cluster.Event{Err: xdsforge.ErrNotFound})
		xdstest.Emit(f, endpoint.Type(), "checkout", endpoint.Event{Err: xdsforge.ErrNotFound})
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("Get = %v before the event", err)
		default:
		}
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("Get = %v; want that the context ended", err)
		}
	})
}

// TestFakeSubscribe expects every event in order, never two at the same time, and none after stop.
func TestFakeSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, typ := xdstest.NewFake(), cluster.Type()
		for i := range uint32(3) {
			xdstest.Emit(f, typ, "checkout", cluster.Event{Update: &cluster.Update{MaxRequests: i}})
		}
		var got []uint32
		stop, err := cluster.Subscribe(f, "checkout", func(ev cluster.Event) { got = append(got, ev.Update.MaxRequests) })
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint32(50) {
			xdstest.Emit(f, typ, "checkout", cluster.Event{Update: &cluster.Update{MaxRequests: 3 + i}})
		}
		synctest.Wait()
		stop()
		stop()
		xdstest.Emit(f, typ, "checkout", cluster.Event{Update: &cluster.Update{MaxRequests: 100}})
		synctest.Wait()
		if len(got) != 51 || got[0] != 2 || got[50] != 52 || !slices.IsSorted(got) {
			t.Errorf("the events are %v; want 2 to 52", got)
		}
		begun, release, calls := make(chan bool), make(chan bool), 0
		stop, err = cluster.Subscribe(f, "checkout", func(cluster.Event) { calls++; begun <- true; <-release })
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		xdstest.Emit(f, typ, "checkout", cluster.Event{Update: &cluster.Update{MaxRequests: 101}})
		stop()
		release <- true
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls; want none after stop", calls)
		}
		if _, err := cluster.Subscribe(f, "", func(cluster.Event) {}); err == nil {
			t.Error("a subscription to an empty name has no error")
		}
	})
}

// TestFakeLookup expects Lookup to find the newest updates, including literals.
func TestFakeLookup(t *testing.T) {
	f, typ := xdstest.NewFake(), cluster.Type()
	literal := &cluster.Update{MaxRequests: 1}
	xdstest.Emit(f, typ, "checkout", cluster.Event{Update: literal})
	decoded := xdstest.Decode(t, typ, eds("cart", 1))
	xdstest.Emit(f, typ, "cart", cluster.Event{Update: decoded})
	if u, ok := cluster.Lookup(f, "checkout"); !ok || u != literal {
		t.Errorf("Lookup = %v, %t; want the literal", u, ok)
	}
	var referring []*cluster.Update
	for ref := range decoded.Refs() {
		referring = slices.AppendSeq(referring, typ.Referring(f, ref))
	}
	if !slices.Equal(referring, []*cluster.Update{decoded}) {
		t.Errorf("Referring = %v; want the cluster", referring)
	}
	xdstest.Emit(f, typ, "cart", cluster.Event{Err: xdsforge.ErrRemoved})
	if u, ok := cluster.Lookup(f, "cart"); ok {
		t.Errorf("Lookup = %v; want nothing after an error", u)
	}
	if all := slices.Collect(typ.All(f)); !slices.Equal(all, []*cluster.Update{literal}) {
		t.Errorf("All = %v; want the literal", all)
	}
}

// TestFakeTypes expects the fake to find types by the names of their messages.
func TestFakeTypes(t *testing.T) {
	f := xdstest.NewFake(cluster.Type())
	if _, err := resource.Find(f, cluster.Type().Name()); err != nil {
		t.Error(err)
	}
	if _, err := resource.Find(f, endpoint.Type().Name()); !errors.Is(err, xdsforge.ErrUnknownType) {
		t.Errorf("Find = %v; want an unknown type", err)
	}
}

// TestFakeCollection expects members, their changes, and events of the whole collection.
func TestFakeCollection(t *testing.T) {
	const glob = "xdstp://east/envoy.config.cluster.v3.Cluster/shop/*"
	f, typ := xdstest.NewFake(), cluster.Type()
	emit := func(name string, ev cluster.Event) { xdstest.Emit(f, typ, name, ev) }
	in := func(member string) string { return strings.TrimSuffix(glob, "*") + member }
	emit(in("b"), cluster.Event{Update: &cluster.Update{MaxRequests: 2}})
	emit(in("a"), cluster.Event{Update: &cluster.Update{MaxRequests: 1}})
	emit("old", cluster.Event{Update: &cluster.Update{MaxRequests: 9}})
	watch := func(name string) (next func() string) {
		n, stop := iter.Pull(cluster.WatchCollection(t.Context(), f, name))
		t.Cleanup(stop)
		return func() string {
			ev, ok := n()
			if !ok {
				return "end"
			}
			return fmt.Sprintf("%s %s synced=%t", ev.Name, brief(ev.Event), ev.Synced)
		}
	}
	members, all := watch(glob), watch("*")
	got := []string{members(), members(), all()}
	xdstest.Emit(f, endpoint.Type(), "other", endpoint.Event{Update: new(endpoint.Update)})
	emit(in("a"), cluster.Event{Err: xdsforge.ErrRemoved})
	emit(glob, cluster.Event{Ambient: errGone})
	emit("*", cluster.Event{Err: xdsforge.ErrDenied})
	got = append(got, members(), members(), all())
	_ = f.Close()
	got = append(got, members(), members())
	want := []string{
		in("a") + " 1 primary err=<nil> ambient=<nil> changed=true synced=false",
		in("b") + " 2 primary err=<nil> ambient=<nil> changed=true synced=true",
		"old 9 primary err=<nil> ambient=<nil> changed=true synced=true",
		in("a") + " none none err=" + xdsforge.ErrRemoved.Error() + " ambient=<nil> changed=true synced=true",
		" none none err=<nil> ambient=the control plane is gone changed=false synced=true",
		" none none err=" + xdsforge.ErrDenied.Error() + " ambient=<nil> changed=false synced=true",
		" none none err=xdstest: " + xdsforge.ErrClosed.Error() + " ambient=<nil> changed=false synced=true",
		"end",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for ev := range endpoint.WatchCollection(t.Context(), xdstest.NewFake(), "*") {
		if ev.Err == nil {
			t.Errorf("event = %v; want that endpoints have no wildcard", ev)
		}
	}
}

// TestEmitMisuse expects panics that name the mistake.
func TestEmitMisuse(t *testing.T) {
	f, typ := xdstest.NewFake(), cluster.Type()
	some := new(cluster.Update)
	for want, misuse := range map[string]func(){
		"zero value":              func() { xdstest.Emit(f, resource.TypeOf[*cluster.Update]{}, "a", cluster.Event{Update: some}) },
		"must not be empty":       func() { xdstest.Emit(f, typ, "", cluster.Event{Update: some}) },
		"must have one":           func() { xdstest.Emit(f, typ, "a", cluster.Event{}) },
		"Update: true, Err: does": func() { xdstest.Emit(f, typ, "a", cluster.Event{Update: some, Err: xdsforge.ErrNotFound}) },
		"no Update":               func() { xdstest.Emit(f, typ, "*", cluster.Event{Update: some}) },
		"must be envoy.config.cluster.v3.Cluster": func() {
			xdstest.Emit(f, typ, "xdstp://a/envoy.config.route.v3.RouteConfiguration/b", cluster.Event{Update: some})
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q; want %q", got, want)
				}
			}()
			misuse()
		}()
	}
}
