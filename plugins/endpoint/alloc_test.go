package endpoint_test

import (
	"fmt"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

const (
	localities = 4
	endpoints  = 100
)

// assignment encodes a resource of 100 endpoints in 4 localities.
func assignment() *endpointv3.ClusterLoadAssignment {
	m := &endpointv3.ClusterLoadAssignment{ClusterName: "checkout"}
	for l := range localities {
		locality := &endpointv3.LocalityLbEndpoints{
			Locality:            &corev3.Locality{Region: "us-east1", Zone: fmt.Sprint("zone-", l)},
			LoadBalancingWeight: wrapperspb.UInt32(1),
		}
		for e := range endpoints / localities {
			locality.LbEndpoints = append(locality.LbEndpoints, &endpointv3.LbEndpoint{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
					Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
						Address: fmt.Sprintf("10.0.%d.%d", l, e), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 8080},
					}}},
				}},
				HealthStatus: corev3.HealthStatus_HEALTHY,
			})
		}
		m.Endpoints = append(m.Endpoints, locality)
	}
	return m
}

// The number of allocations of decoding does not depend on the number of endpoints, and strings
// cost none.
func TestAllocations(t *testing.T) {
	dc := plugincase.Context(t)
	body, err := proto.Marshal(assignment())
	if err != nil {
		t.Fatal(err)
	}
	decoded := testing.AllocsPerRun(100, func() {
		if _, err := plugincase.DecodeBytes(dc, endpoint.Type(), body); err != nil {
			t.Fatal(err)
		}
	})
	if decoded > 12 {
		t.Errorf("decoding %d endpoints allocates %v times; want at most 12", endpoints, decoded)
	}
}

func BenchmarkDecode(b *testing.B) { plugincase.Bench(b, endpoint.Type(), assignment()) }

// Neither Address nor a loop over Addresses allocates.
func TestAddressAllocations(t *testing.T) {
	e := endpoint.New("10.0.0.1:80", "10.0.0.2:80")
	var n int
	allocs := testing.AllocsPerRun(100, func() {
		n = len(e.Address())
		for a := range e.Addresses() {
			n += len(a)
		}
	})
	if allocs != 0 || n != 3*len("10.0.0.1:80") {
		t.Errorf("reading addresses allocates %v times, %d bytes read; want no allocation", allocs, n)
	}
}

// An endpoint that is nil or has no addresses returns "".
func TestNoAddress(t *testing.T) {
	for _, e := range []*endpoint.Endpoint{nil, new(endpoint.Endpoint)} {
		for a := range e.Addresses() {
			t.Errorf("Addresses yields %q; want nothing", a)
		}
		if a := e.Address(); a != "" {
			t.Errorf("Address = %q; want none", a)
		}
	}
}
