package lbendpoint_test

import (
	"slices"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
)

// Profile Envoy leaves out addresses that are not socket addresses.
func TestEnvoyAddresses(t *testing.T) {
	u := plugincase.Read[*lbendpoint.Update](t, lbendpoint.Type(), new(endpointv3.LbEndpoint), `endpoint { address { pipe { path: "/s" } }
		additional_addresses { address { envoy_internal_address { server_listener_name: "main" } } }
		additional_addresses { address { socket_address { address: "10.0.0.2" port_value: 80 } } } }`,
		plugincase.Profile(resource.Envoy), plugincase.Name("e"))
	if all := slices.Collect(u.Addresses()); !slices.Equal(all, []string{"10.0.0.2:80"}) || u.Address() != all[0] {
		t.Errorf("addresses %q, first %q", all, u.Address())
	}
}
