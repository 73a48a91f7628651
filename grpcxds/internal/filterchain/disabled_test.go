package filterchain_test

import (
	"context"
	"slices"
	"testing"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// The most specific level decides whether a filter is disabled.
func TestDisabled(t *testing.T) {
	type levels = []map[string]route.FilterOverride
	off := map[string]route.FilterOverride{"two": {Disabled: true}}
	on := func(text string) map[string]route.FilterOverride { return overrides("two", "a.BOverride", text) }
	one := overrides("one", "a.AOverride", "x")
	for _, test := range []struct {
		name     string
		disabled bool // in the Listener
		levels   levels
		want     []string
	}{
		{"the listener", true, nil, []string{"1", "3"}},
		{"the listener, another filter overridden", true, levels{one}, []string{"1/x", "3"}},
		{"the listener, enabled by the host", true, levels{on("h")}, []string{"1", "2/h", "3"}},
		{"the listener, enabled by the host, route says nothing", true, levels{on("h"), nil}, []string{"1", "2/h", "3"}},
		{"the listener, enabled by the host, disabled by the route", true, levels{on("h"), off}, []string{"1", "3"}},
		{"the listener, enabled by the cluster", true, levels{nil, nil, on("c")}, []string{"1", "2/c", "3"}},
		{"the host", false, levels{off}, []string{"1", "3"}},
		{"the host, route overrides another filter", false, levels{off, one}, []string{"1/x", "3"}},
		{"the host, enabled by the route", false, levels{off, on("r")}, []string{"1", "2/r", "3"}},
		{"the route", false, levels{on("h"), off}, []string{"1", "3"}},
		{"the route, enabled by the cluster", false, levels{on("h"), off, on("c")}, []string{"1", "2/c", "3"}},
		{"the cluster", false, levels{nil, on("r"), off}, []string{"1", "3"}},
	} {
		l := list()
		l[2].Disabled = test.disabled
		client, err := table(t).Client(l, test.levels...)
		server, serverErr := table(t).Server(l, test.levels...)
		if err != nil || serverErr != nil {
			t.Fatalf("%s: %v, %v", test.name, err, serverErr)
		}
		var clientSaw, serverSaw []string
		_, err = client.Intercept(context.WithValue(t.Context(), seenKey{}, &clientSaw), new(httpfilter.ClientCall))
		_, serverErr = server.Intercept(context.WithValue(t.Context(), seenKey{}, &serverSaw), new(httpfilter.ServerCall))
		if err != nil || serverErr != nil || !slices.Equal(clientSaw, test.want) || !slices.Equal(serverSaw, test.want) {
			t.Errorf("disabled by %s: the client's filters are %q (%v), the server's %q (%v); want %q", test.name, clientSaw, err, serverSaw, serverErr, test.want)
		}
	}
}

// A disabled filter has no interceptor, but its message must be known.
func TestDisabledFilterIsKnown(t *testing.T) {
	f := table(t)
	c, err := f.Client([]listener.HTTPFilter{{Name: "one", Message: "a.A", Disabled: true}, {Name: "end", Message: "a.End", Disabled: true}})
	if err != nil || !c.Idle() {
		t.Errorf("a chain of disabled filters is not idle (%v)", err)
	}
	if _, err := f.Client([]listener.HTTPFilter{{Name: "x", Message: "a.Unknown", Disabled: true}}); err == nil {
		t.Error("a disabled filter that cannot run is accepted")
	}
}

// A server creates no instance for a filter that is disabled everywhere.
func TestServerInstancesOfDisabledFilters(t *testing.T) {
	created := 0
	f := filter("a.Counted")
	create := f.NewServer
	f.NewServer = func(h httpfilter.Host) (httpfilter.ServerInstance, error) {
		created++
		return create(h)
	}
	r, err := filterchain.New([]httpfilter.Filter{f})
	if err != nil {
		t.Fatal(err)
	}
	set := new(filterchain.ServerHolder).Begin()
	defer set.Release()
	for _, disabled := range []bool{false, true} {
		l, err := r.Server(set, "chain", httpfilter.Host{}, []listener.HTTPFilter{{Name: "x", Message: "a.Counted", Config: "1", Disabled: disabled}})
		if err != nil {
			t.Fatal(err)
		}
		off, err := l.Override(map[string]route.FilterOverride{"x": {Disabled: true}})
		if err != nil {
			t.Fatal(err)
		}
		on, err := off.Override(overrides("x", "a.CountedOverride", "on"))
		if err != nil {
			t.Fatal(err)
		}
		created = 0
		if c, err := off.Chain(); err != nil || !c.Idle() || created != 0 {
			t.Errorf("a filter that is disabled everywhere has %d instances (%v); want none", created, err)
		}
		for range 2 {
			if _, err := on.Chain(); err != nil || created > 1 {
				t.Errorf("a filter that an override enables has %d instances (%v); want 1", created, err)
			}
		}
	}
}
