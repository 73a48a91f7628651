package endpoint

import (
	"fmt"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

const (
	localities = 4
	endpoints  = 100
)

// assignment is an encoded resource of 100 endpoints in 4 localities.
func assignment(tb testing.TB) (*resource.DecodeContext, []byte) {
	tb.Helper()
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
	body, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	name, err := xdstp.Parse(m.GetClusterName())
	if err != nil {
		tb.Fatal(err)
	}
	return &resource.DecodeContext{Name: name}, body
}

// Decoding costs few allocations, however many endpoints there are, and strings of the
// message none.
func TestAllocations(t *testing.T) {
	dc, body := assignment(t)
	decoded := testing.AllocsPerRun(100, func() {
		if _, err := decode(dc, body); err != nil {
			t.Fatal(err)
		}
	})
	if decoded > 20 {
		t.Errorf("decoding %d endpoints allocates %v times; want at most 20", endpoints, decoded)
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	_, body := assignment(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := proto.Unmarshal(body, new(endpointv3.ClusterLoadAssignment)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	dc, body := assignment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(dc, body); err != nil {
			b.Fatal(err)
		}
	}
}
