package lbendpoint_test

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
	"github.com/xdsforge/xdsforge/xdstest"
)

// An update is one endpoint of a locality whose endpoints are a collection.
func ExampleUpdate() {
	u, err := xdstest.TryDecode(lbendpoint.Type(), &endpointv3.LbEndpoint{
		HealthStatus: corev3.HealthStatus_HEALTHY,
		HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
				Address: "10.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 8080},
			}}},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Address(), u.Health, "weight", u.Weight)
	// Output: 10.0.0.1:8080 HEALTHY weight 1
}
