package endpoint_test

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/xdstest"
)

// An update has localities, each with a weight, a priority and endpoints.
func ExampleUpdate() {
	address := &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "10.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 8080},
	}}}
	u, err := xdstest.TryDecode(endpoint.Type(), &endpointv3.ClusterLoadAssignment{
		ClusterName: "checkout",
		Endpoints: []*endpointv3.LocalityLbEndpoints{{
			Locality:            &corev3.Locality{Region: "eu", Zone: "eu-1"},
			LoadBalancingWeight: wrapperspb.UInt32(3),
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{Address: address},
			}}},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range u.Localities {
		for i := range l.Endpoints {
			fmt.Println(l.ID.Zone, "weight", l.Weight, "priority", l.Priority, l.Endpoints[i].Address())
		}
	}
	// Output: eu-1 weight 3 priority 0 10.0.0.1:8080
}
