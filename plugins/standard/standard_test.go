package standard_test

import (
	"slices"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

func types(t *testing.T) *resource.Set {
	t.Helper()
	r := registry.New()
	standard.Register(r)
	set, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestRegister(t *testing.T) {
	var got []string
	for _, typ := range types(t).All() {
		got = append(got, typ.Name)
		// The specification lets absence delete only listeners and clusters.
		if want := typ.ShortName() == "Listener" || typ.ShortName() == "Cluster"; typ.Complete != want {
			t.Errorf("%s: Complete = %v; want %v", typ.Name, typ.Complete, want)
		}
	}
	want := []string{
		"envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment",
		"envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration",
	}
	if !slices.Equal(got, want) {
		t.Errorf("types %v; want %v", got, want)
	}
}

// listenerBody encodes a client's Listener with inlined routes.
func listenerBody(t *testing.T, routes *routev3.RouteConfiguration) []byte {
	t.Helper()
	router, err := anypb.New(new(routerv3.Router))
	if err != nil {
		t.Fatal(err)
	}
	manager, err := anypb.New(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes},
		HttpFilters:    []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: router}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(&listenerv3.Listener{Name: "web", ApiListener: &listenerv3.ApiListener{ApiListener: manager}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func decodeListener(t *testing.T, routes *routev3.RouteConfiguration) (resource.Update, error) {
	t.Helper()
	body := listenerBody(t, routes)
	name, err := xdstp.Parse("web")
	if err != nil {
		t.Fatal(err)
	}
	return resource.Describe(listener.Type()).Decode(&resource.DecodeContext{Name: name, Types: types(t)}, body)
}

func toCluster(name string) *routev3.Route {
	return &routev3.Route{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name}}},
	}
}

// A listener refers to the clusters of its inlined routes.
func TestInlineRoutes(t *testing.T) {
	u, err := decodeListener(t, &routev3.RouteConfiguration{VirtualHosts: []*routev3.VirtualHost{{Domains: []string{"*"}, Routes: []*routev3.Route{toCluster("a")}}}})
	if err != nil {
		t.Fatal(err)
	}
	name, err := xdstp.Parse("a")
	if err != nil {
		t.Fatal(err)
	}
	want := []resource.Ref{{Type: "envoy.config.cluster.v3.Cluster", Name: name}}
	if got := slices.Collect(u.Refs()); !slices.Equal(got, want) {
		t.Errorf("refs %v; want %v", got, want)
	}
	inline, ok := u.(*listener.Update).API.Routes.(listener.Inline)
	if !ok {
		t.Fatalf("routes are %T; want listener.Inline", u.(*listener.Update).API.Routes)
	}
	routes, ok := inline.Config.(*route.Update)
	if !ok || len(routes.VirtualHosts) != 1 || routes.VirtualHosts[0].Routes[0].Action != (route.Cluster{Name: "a"}) {
		t.Errorf("inline routes are %+v", inline.Config)
	}
}

// The listener reports the violations of its inlined routes, with their full path.
func TestWrongInlineRoutes(t *testing.T) {
	_, err := decodeListener(t, &routev3.RouteConfiguration{VirtualHosts: []*routev3.VirtualHost{{Routes: []*routev3.Route{{}}}}})
	const want = "api_listener.api_listener.route_config.virtual_hosts[0].domains; must not be empty, and " +
		"api_listener.api_listener.route_config.virtual_hosts[0].routes[0].match.path_specifier; must be set (A28)"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}
