package listener_test

import (
	"fmt"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/xdstest"
)

// The Listener of a channel names its routes, and the HTTP filters that calls pass.
func ExampleUpdate() {
	m := new(listenerv3.Listener)
	if err := protojson.Unmarshal([]byte(`{"name": "shop", "api_listener": {"api_listener": {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"rds": {"config_source": {"ads": {}}, "route_config_name": "shop-routes"},
		"http_filters": [{"name": "router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]
	}}}`), m); err != nil {
		fmt.Println(err)
		return
	}
	u, err := xdstest.TryDecode(listener.Type(), m, route.Register)
	if err != nil {
		fmt.Println(err)
		return
	}
	if rds, ok := u.API.Routes.(listener.RDS); ok {
		fmt.Println("routes:", rds.Name)
	}
	for ref := range u.Refs() {
		fmt.Println("refers to", ref.Type, ref.Name)
	}
	// Output:
	// routes: shop-routes
	// refers to envoy.config.route.v3.RouteConfiguration shop-routes
}
