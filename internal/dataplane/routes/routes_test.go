package routes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A maker supports the action non_forwarding_action, and no route named "bad".
type maker struct{}

func (maker) Plan(h *route.VirtualHost, index int) (string, error) {
	r := &h.Routes[index]
	if r.Name == "bad" {
		return "", errors.New("is bad")
	}
	return "plan of " + r.Name, nil
}

func (maker) Target(plan string, _ int, overrides map[string]route.FilterOverride) (string, error) {
	return fmt.Sprintf("%s with %d overrides", plan, len(overrides)), nil
}

func (maker) Action(r *route.Route) error {
	if _, ok := r.Action.(route.NonForwarding); ok {
		return nil
	}
	return errors.New("unsupported route action")
}

func (maker) HeaderClusters() []string { return nil }

// subscriptions records the clusters that are subscribed to.
type subscriptions struct{ names []string }

func (s *subscriptions) Subscribe(name string) (unsubscribe func()) {
	s.names = append(s.names, name)
	return func() { s.names = slices.DeleteFunc(s.names, func(n string) bool { return n == name }) }
}

func config(t *testing.T, routes string) *xdsconfig.Config {
	t.Helper()
	l := plugincase.Read[*listener.Update](t, listener.Type(), new(listenerv3.Listener), fmt.Sprintf(`name: "l"
		api_listener { api_listener { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		route_config { virtual_hosts { name: "h" domains: "svc" %s } } } } }`, routes))
	r := l.API.Routes.(listener.Inline).Config.(*route.Update)
	return &xdsconfig.Config{Listener: l, Route: r, VirtualHost: r.VirtualHost("svc")}
}

// TestTable expects the plan of each route to have the user's parts, and errors to have their kinds.
func TestTable(t *testing.T) {
	var refs Refs
	table := Compile(config(t, `
		routes { name: "a" match { path: "/a" } route { cluster: "a" } }
		routes { name: "n" match { path: "/n" } non_forwarding_action {} }
		routes { name: "r" match { path: "/r" } redirect {} }
		routes { name: "bad" match { path: "/bad" } route { cluster: "b" } }`), &refs, Settings{Where: "here", NodeID: "n"}, maker{})
	if table.ReadsHeaders() {
		t.Error("the table reads headers; no route matches them")
	}
	for path, want := range map[string]string{
		"/a":   "plan of a with 0 overrides to a",
		"/n":   "no target",
		"/r":   `here: RouteConfiguration "l": cannot route the call: virtual host "h": route "r": unsupported route action`,
		"/bad": `here: RouteConfiguration "l": cannot route the call: virtual host "h": route "bad": is bad`,
		"/x":   `here: RouteConfiguration "l": cannot route the call: no route of virtual host "h" takes /x`,
	} {
		p, err := table.Plan(path, nil)
		kind := ErrNoRoute
		got := "no target"
		if err == nil {
			kind, err = ErrUnusable, p.Err
			if to := p.Choose(); to != nil && err == nil {
				got = to.Own + " to " + to.Call.Cluster
			}
		}
		if err != nil {
			got, _, _ = strings.Cut(err.Error(), " [")
			if !errors.Is(err, kind) || errors.Is(err, ErrNoRoute) && errors.Is(err, ErrUnusable) {
				t.Errorf("%s: the error is not of exactly the kind that is expected: %v", path, err)
			}
		}
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", path, got, want)
		}
	}
}

// TestRefs expects a cluster to stay subscribed as long as a table or a request uses it.
func TestRefs(t *testing.T) {
	var refs Refs
	s := new(subscriptions)
	refs.Bind(s)
	c := config(t, `routes { match { prefix: "" } route { cluster: "a" } }`)
	table := Compile(c, &refs, Settings{}, maker{})
	if !table.IsFor(c) || table.IsFor(config(t, `routes { match { prefix: "" } route { cluster: "a" } }`)) {
		t.Error("the table is not exactly for its configuration")
	}
	p, err := table.Plan("/", nil)
	if err != nil {
		t.Fatal(err)
	}
	to := p.Choose()
	if !to.Acquire() {
		t.Fatal("the cluster of a current table cannot be used")
	}
	table.Release()
	if len(s.names) != 1 {
		t.Errorf("subscribed while a request is in flight: %q, want one cluster", s.names)
	}
	to.Release()
	if len(s.names) != 0 || to.Acquire() {
		t.Errorf("subscribed after the last request: %q, want none, and no more requests", s.names)
	}
}

// TestEveryTargetIsChosen expects targets of equal, small weights to get the same share of requests.
func TestEveryTargetIsChosen(t *testing.T) {
	type target = Target[struct{}]
	p := &Plan[struct{}, struct{}]{targets: []target{{weight: 1}, {weight: 1}, {weight: 1}}, total: 3}
	chosen := make(map[*target]int)
	for range 3000 {
		chosen[p.Choose()]++
	}
	for i := range p.targets {
		if n := chosen[&p.targets[i]]; n < 800 || n > 1200 {
			t.Errorf("target %d got %d of 3000 requests, want about 1000", i, n)
		}
	}
}
