package routes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A maker supports the action non_forwarding_action, no route named "bad", and no target of a route named "worse". Headers
// may name its clusters.
type maker []string

func (maker) Plan(h *route.VirtualHost, index int) (string, error) {
	r := &h.Routes[index]
	if r.Name == "bad" {
		return "", errors.New("is bad")
	}
	return "plan of " + r.Name, nil
}

func (maker) Target(plan string, _ int, overrides map[string]route.FilterOverride) (string, error) {
	if plan == "plan of worse" {
		return "", errors.New("has a bad target")
	}
	return fmt.Sprintf("%s with %d overrides", plan, len(overrides)), nil
}

func (maker) Action(r *route.Route) error {
	if _, ok := r.Action.(route.NonForwarding); ok {
		return nil
	}
	return errors.New("unsupported route action")
}

func (m maker) HeaderClusters() []string { return m }

// subscriptions records the clusters that are subscribed to.
type subscriptions struct{ names []string }

func (s *subscriptions) Subscribe(name string) (unsubscribe func()) {
	s.names = append(s.names, name)
	return func() { s.names = slices.DeleteFunc(s.names, func(n string) bool { return n == name }) }
}

func config(t *testing.T, routes string, opts ...plugincase.Option) *xdsconfig.Config {
	t.Helper()
	return configOf(t, fmt.Sprintf(`virtual_hosts { name: "h" domains: "svc" %s }`, routes), opts...)
}

func configOf(t *testing.T, hosts string, opts ...plugincase.Option) *xdsconfig.Config {
	t.Helper()
	l := plugincase.Read[*listener.Update](t, listener.Type(), new(listenerv3.Listener), fmt.Sprintf(`name: "l"
		api_listener { api_listener { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		route_config { %s } } } }`, hosts), opts...)
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
		routes { name: "bad" match { path: "/bad" } route { cluster: "b" } }
		routes { name: "worse" match { path: "/worse" } route { cluster: "b" } }`), &refs, Settings{Where: "here", NodeID: "n"}, maker{})
	if table.ReadsHeaders() {
		t.Error("the table reads headers; no route matches them")
	}
	for path, want := range map[string]string{
		"/a":     "plan of a with 0 overrides to a",
		"/n":     "no target",
		"/r":     `here: RouteConfiguration "l": cannot route the call: virtual host "h": route "r": unsupported route action`,
		"/bad":   `here: RouteConfiguration "l": cannot route the call: virtual host "h": route "bad": is bad`,
		"/worse": `here: RouteConfiguration "l": cannot route the call: virtual host "h": route "worse": has a bad target`,
		"/x":     `here: RouteConfiguration "l": cannot route the call: no route of virtual host "h" takes /x`,
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

// TestTargets expects the call of each target to name the clusters of the route, and the routed host.
func TestTargets(t *testing.T) {
	var refs Refs
	s := new(subscriptions)
	refs.Bind(s)
	table := Compile(config(t, `
		routes { name: "one" match { path: "/one" headers { name: "x" present_match: true } } route { cluster: "a" auto_host_rewrite { value: true } } }
		routes { name: "two" match { path: "/two" } route { host_rewrite_literal: "other" weighted_clusters {
			clusters { name: "a" weight { value: 1 } } clusters { name: "b" weight { value: 2 } } } } }
		routes { name: "named" match { path: "/named" } route { cluster_header: "x-cluster" } }`,
		plugincase.Profile(resource.HTTP), plugincase.Trusted()), &refs, Settings{}, maker{"b", "c"})
	if !table.ReadsHeaders() {
		t.Error("the table reads no headers; a route matches one")
	}
	plans := make(map[string]*Plan[string, string])
	for _, p := range table.plans {
		plans[p.Route.Name] = p
	}
	for _, tt := range []struct{ plan, cluster, want string }{
		{"one", "a", "to a of [a], authority [], rewrite true, weight 1"},
		{"two", "a", "to a of [a b], authority [other], rewrite false, weight 1"},
		{"two", "b", "to b of [a b], authority [other], rewrite false, weight 2"},
		{"named", "b", "to b of [], authority [], rewrite false, weight 0"},
		{"named", "c", "to c of [], authority [], rewrite false, weight 0"},
		{"two", "c", "nil"},
		{"named", "a", "nil"},
	} {
		got := "nil"
		if to := plans[tt.plan].Named(tt.cluster); to != nil {
			got = fmt.Sprintf("to %s of %v, authority %v, rewrite %t, weight %d",
				to.Call.Cluster, to.Call.Clusters, to.Call.Authority[":authority"], to.Call.AutoHostRewrite, to.weight)
		}
		if got != tt.want {
			t.Errorf("the target %s of route %s is %s, want %s", tt.cluster, tt.plan, got, tt.want)
		}
	}
	if n := plans["two"].total; n != 3 {
		t.Errorf("the weights of route two have the sum %d, want 3", n)
	}
	slices.Sort(s.names)
	if !slices.Equal(s.names, []string{"a", "b", "c"}) {
		t.Errorf("subscribed to %q, want each cluster once", s.names)
	}
	next := Compile(config(t, `routes { match { prefix: "" } route { cluster: "a" } }`), &refs, Settings{}, maker{})
	table.Release()
	if !slices.Equal(s.names, []string{"a"}) {
		t.Errorf("after the table is released, subscribed to %q, want the cluster of the next table", s.names)
	}
	next.Release()
	if len(s.names) > 0 {
		t.Errorf("after both tables are released, subscribed to %q", s.names)
	}
}

// TestHTTPPlan expects the authority to choose the virtual host of a configuration with several.
func TestHTTPPlan(t *testing.T) {
	var refs Refs
	c := configOf(t, `
		virtual_hosts { name: "h" domains: "svc" routes { name: "a" match { prefix: "/a" } route { cluster: "a" } } routes { match { prefix: "/i" } filter_action {} } }
		virtual_hosts { name: "other" domains: "*.example" routes { name: "b" match { prefix: "/" } route { cluster: "b" } } }`, plugincase.Profile(resource.HTTP))
	several := *c
	several.VirtualHost = nil
	only := Compile(c, &refs, Settings{Where: "here"}, maker{})
	all := Compile(&several, &refs, Settings{Where: "here"}, maker{})
	const none = `here: RouteConfiguration "l": cannot route the call: `
	for _, tt := range []struct {
		table           *Table[string, string]
		authority, path string
		want            string
	}{
		{only, "svc", "/a", "a"},
		{only, "b.example", "/a", "a"},
		{only, "svc", "/x", none + `no route of virtual host "h" takes /x`},
		{all, "svc", "/a", "a"},
		{all, "svc", "/x", none + `no route of virtual host "h" takes /x`},
		{all, "b.example", "/a", "b"},
		{all, "c", "/a", none + `no virtual host is for "c"`},
	} {
		p, err := tt.table.HTTPPlan(tt.authority, tt.path, nil)
		var got string
		if err != nil {
			got, _, _ = strings.Cut(err.Error(), " [")
		} else {
			got = p.Route.Name
		}
		if got != tt.want {
			t.Errorf("%s%s has the plan %s, want %s", tt.authority, tt.path, got, tt.want)
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

// TestBind expects the subscriber of a resolver that starts again to get the clusters in use, and no others.
func TestBind(t *testing.T) {
	var refs Refs
	kept := Compile(config(t, `routes { match { prefix: "" } route { cluster: "a" } }`), &refs, Settings{}, maker{})
	other := Compile(config(t, `routes { match { prefix: "" } route { cluster: "b" } }`), &refs, Settings{}, maker{})
	other.Release()
	s := new(subscriptions)
	refs.Bind(s)
	if !slices.Equal(s.names, []string{"a"}) {
		t.Errorf("subscribed to %q, want the cluster of the table that is in use", s.names)
	}
	refs.Bind(nil)
	Compile(config(t, `routes { match { prefix: "" } route { cluster: "c" } }`), &refs, Settings{}, maker{}).Release()
	kept.Release()
	if !slices.Equal(s.names, []string{"a"}) {
		t.Errorf("a subscriber that is no longer bound has %q, want no change", s.names)
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
