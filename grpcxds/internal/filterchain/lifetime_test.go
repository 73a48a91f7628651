package filterchain_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// An owner is an instance. It records its events.
type owner struct {
	events *[]string
	host   httpfilter.Host
}

func (o *owner) Interceptor(config, override any) (httpfilter.ClientInterceptor, error) {
	text := config.(string)
	if s, ok := override.(string); ok {
		text += "/" + s
	}
	*o.events = append(*o.events, "open "+text)
	return &wrapper{o, text}, nil
}

func (o *owner) Close() { *o.events = append(*o.events, "close "+o.host.Name) }

// A wrapper is an interceptor that sees messages. Its Close has no error.
type wrapper struct {
	*owner
	text string
}

func (w *wrapper) NewStream(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	return next(ctx)
}

func (w *wrapper) Close() { *w.events = append(*w.events, "end "+w.text) }

func owners(t *testing.T, events *[]string, fail error) *filterchain.Registry {
	t.Helper()
	r, err := filterchain.New([]httpfilter.Filter{
		{
			HTTPFilter: &resource.HTTPFilter{Config: "a.Owner", Override: "a.Owner", Sides: resource.ClientSide},
			NewClient: func(h httpfilter.Host) (httpfilter.ClientInstance, error) {
				if fail != nil {
					return nil, fail
				}
				*events = append(*events, "create "+h.Name+" for "+h.Target)
				return &owner{events, h}, nil
			},
		},
		filter("a.Plain"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Instances survive updates. Interceptors end with their configuration and its last call.
func TestLifetimes(t *testing.T) {
	var events []string
	r := owners(t, &events, nil)
	want := func(step string, want ...string) {
		t.Helper()
		if !slices.Equal(events, want) {
			t.Errorf("%s: events %q; want %q", step, events, want)
		}
		events = nil
	}
	var holder filterchain.ClientHolder
	host := httpfilter.Host{Target: "xds:///shop"}
	begin := func(config string, disabled bool, levels ...map[string]route.FilterOverride) (*filterchain.ClientSet, []*filterchain.ClientChain) {
		t.Helper()
		set := holder.Begin()
		l, err := r.Client(set, host, []listener.HTTPFilter{{Name: "x", Message: "a.Owner", Config: config, Disabled: disabled}})
		var chains []*filterchain.ClientChain
		for i := range len(levels) + 1 {
			c, failed := chainOf(l, err, levels[:i])
			if failed != nil {
				t.Fatal(failed)
			}
			chains = append(chains, c)
		}
		return set, chains
	}
	first, chains := begin("1", false, map[string]route.FilterOverride{"x": {Message: "a.Owner", Config: "route"}})
	chain, over := chains[0], chains[1]
	want("first configuration", "create x for xds:///shop", "open 1", "open 1/route")
	if !over.Messages() || over.Idle() {
		t.Error("a chain with an interceptor that sees messages does not report it")
	}
	if !over.Acquire() {
		t.Fatal("a call cannot acquire the chain")
	}
	second, _ := begin("2", false)
	first.Release()
	want("a call is left", "open 2")
	over.Release()
	want("the call has ended", "end 1/route", "end 1")
	if chain.Acquire() {
		t.Error("a call acquires a chain that has ended")
	}
	third, chains := begin("3", true)
	disabled := chains[0]
	second.Release()
	want("the filter is disabled", "end 2", "close x")
	if !disabled.Idle() || disabled.Messages() || !disabled.Acquire() {
		t.Error("a chain with a disabled filter is not idle")
	}
	disabled.Release()
	third.Release()
	want("no configuration")
}

// A filter has an instance only while calls can reach it, and all overrides share it. Those of a level share their interceptor.
func TestInstancesOfDisabledFilters(t *testing.T) {
	off := map[string]route.FilterOverride{"x": {Disabled: true}}
	for _, disabled := range []bool{true, false} {
		var events []string
		r := owners(t, &events, nil)
		var holder filterchain.ClientHolder
		set := holder.Begin()
		l, err := r.Client(set, httpfilter.Host{}, []listener.HTTPFilter{{Name: "x", Message: "a.Owner", Config: "1", Disabled: disabled}})
		for _, o := range []map[string]route.FilterOverride{nil, {"y": {Message: "a.Owner", Config: "2"}}, {"x": {Message: "a.Owner", Config: "3"}}, off} {
			if err == nil {
				l, err = l.Override(o)
			}
		}
		if _, err := chainOf(l, err, nil); err != nil {
			t.Fatal(err)
		}
		if n := holder.Len(); n != 0 || len(events) > 0 {
			t.Errorf("a filter that is disabled everywhere has %d instances, with the events %q; want none", n, events)
		}
		on := func(text string) map[string]route.FilterOverride {
			return map[string]route.FilterOverride{"x": {Message: "a.Owner", Config: text}}
		}
		host, err := l.Override(on("a"))
		for _, levels := range [][]map[string]route.FilterOverride{nil, {off}, {{"y": {Disabled: true}}}, {on("route")}, {off, on("b")}} {
			if _, err := chainOf(host, err, levels); err != nil {
				t.Fatal(err)
			}
		}
		if n := holder.Len(); n != 1 {
			t.Errorf("a filter that overrides enable has %d instances; want 1", n)
		}
		set.Release()
		if want := []string{"create x for ", "open 1/a", "open 1/route", "open 1/b", "end 1/b", "end 1/route", "end 1/a", "close x"}; !slices.Equal(events, want) {
			t.Errorf("events %q; want %q", events, want)
		}
	}
}

// Each instance has the name of its own entry, in whatever order the chains of a list are created.
func TestNamesOfInstances(t *testing.T) {
	var events []string
	r := owners(t, &events, nil)
	var holder filterchain.ClientHolder
	set := holder.Begin()
	l, err := r.Client(set, httpfilter.Host{}, []listener.HTTPFilter{
		{Name: "x", Message: "a.Owner", Config: "1", Disabled: true},
		{Name: "y", Message: "a.Owner", Config: "2"},
		{Name: "z", Message: "a.Owner", Config: "3", Disabled: true},
	})
	for _, levels := range [][]map[string]route.FilterOverride{nil, {{"x": {Message: "a.Owner"}}}} {
		if _, err := chainOf(l, err, levels); err != nil {
			t.Fatal(err)
		}
	}
	set.Release()
	if want := []string{"create y for ", "open 2", "create x for ", "open 1", "end 1", "end 2", "close x", "close y"}; !slices.Equal(events, want) {
		t.Errorf("events %q; want %q", events, want)
	}
}

// An instance that cannot be created makes calls fail, unless its filter is disabled.
func TestNoInstance(t *testing.T) {
	r := owners(t, new([]string), errors.New("no channel"))
	var holder filterchain.ClientHolder
	set := holder.Begin()
	defer set.Release()
	sets := registry{Registry: r, client: set}
	list := []listener.HTTPFilter{{Name: "x", Message: "a.Owner", Config: "1"}}
	if _, err := sets.Client(list); err == nil {
		t.Error("a filter without an instance runs")
	}
	if _, err := sets.Client(list, map[string]route.FilterOverride{"x": {Disabled: true}}); err != nil {
		t.Errorf("a filter without an instance that an override disables: %v; want no error", err)
	}
	list[0].Disabled = true
	if _, err := sets.Client(list); err != nil {
		t.Errorf("a disabled filter without an instance: %v; want no error", err)
	}
	if _, err := sets.Client(list, map[string]route.FilterOverride{"x": {Message: "a.Owner", Config: "2"}}); err == nil {
		t.Error("an override enables a filter without an instance")
	}
}

// A list that has only functions has nothing to close, and calls pass it without a stream.
func TestPlainChains(t *testing.T) {
	var events []string
	r := owners(t, &events, nil)
	var holder filterchain.ClientHolder
	set := holder.Begin()
	plain := []listener.HTTPFilter{{Name: "p", Message: "a.Plain", Config: "1"}}
	sets := registry{Registry: r, client: set}
	c, err := sets.Client(plain)
	if err != nil {
		t.Fatal(err)
	}
	mixed, err := sets.Client(append(plain, listener.HTTPFilter{Name: "x", Message: "a.Owner", Config: "2"}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Messages() || !mixed.Messages() || len(mixed.Interceptors()) != 2 {
		t.Errorf("a plain list sees messages: %t, a mixed one: %t; want false and true", c.Messages(), mixed.Messages())
	}
	if _, err := mixed.Intercept(t.Context(), new(httpfilter.ClientCall)); status.Code(err) != codes.Internal {
		t.Errorf("a mixed list runs without a stream: %v; want INTERNAL", err)
	}
	set.Release()
	if !c.Acquire() {
		t.Error("calls count for a list with nothing to close")
	}
	c.Release()
	if mixed.Acquire() {
		t.Error("a call acquires a list that has ended")
	}
}

// A function that is nil lets every call pass.
func TestNilFunction(t *testing.T) {
	r, err := filterchain.New([]httpfilter.Filter{{
		HTTPFilter: &resource.HTTPFilter{Config: "a.Nil", Sides: resource.ClientSide},
		NewClient: httpfilter.ClientFunc(func(any, any) (httpfilter.ClientInterceptor, error) {
			return httpfilter.ClientBefore(nil), nil
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := inSets(r).Client([]listener.HTTPFilter{{Name: "x", Message: "a.Nil"}})
	if err != nil || !c.Idle() {
		t.Errorf("a chain with a nil function is not idle (%v)", err)
	}
}
