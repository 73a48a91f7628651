package world

import (
	"testing"
	"testing/synctest"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A tree with several absent resources waits for all of them together.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "plane", "channel_creds": [{"type": "insecure"}]}], "node": {"id": "n"}}`))
		if err != nil {
			t.Fatal(err)
		}
		plane := memoryads.NewServer(memoryads.Type{URL: route.Type().URL()}, memoryads.Type{URL: cluster.Type().URL(), Complete: true})
		host := &routev3.VirtualHost{Name: "all", Domains: []string{"*"}}
		names := []string{"a", "b", "c", "d"}
		for _, name := range names {
			host.Routes = append(host.Routes, &routev3.Route{
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/" + name}},
				Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name}}},
			})
		}
		body, err := proto.Marshal(&routev3.RouteConfiguration{Name: "routes", VirtualHosts: []*routev3.VirtualHost{host}})
		if err != nil {
			t.Fatal(err)
		}
		plane.Set(route.Type().URL(), memoryads.Resource{Name: "routes", Body: body})
		c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTransport(memoryads.Network{"plane": plane}), xdsforge.WithTypes(route.Register, cluster.Register))
		if err != nil {
			t.Fatal(err)
		}
		live := &Live{Client: c, Timeout: time.Minute, Follow: true}
		began := time.Now()
		if e, err := live.Lookup(t.Context(), route.Type().Name(), "routes"); err != nil || e.State != Acked {
			t.Fatalf("Lookup of the routes = %v, %v; want ACKED", e, err)
		}
		for _, name := range names {
			if e, err := live.Lookup(t.Context(), cluster.Type().Name(), name); err != nil || e.State != DoesNotExist {
				t.Errorf("Lookup of %s = %v, %v; want DOES_NOT_EXIST", name, e, err)
			}
		}
		if d := time.Since(began); d > 16*time.Second {
			t.Errorf("the lookups took %s; want the 15 s of one resource", d)
		}
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
}
