package grpcxds

import (
	"fmt"
	"slices"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

const listURL = "type.googleapis.com/envoy.config.endpoint.v3.LbEndpointCollection"

// list publishes a list collection of endpoints with a port each.
func (w *memoryWorld) list(name string, ports ...int) {
	w.Helper()
	text := ""
	for _, port := range ports {
		text += fmt.Sprintf(`entries { inline_entry { resource { [type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint] {
			endpoint { address { socket_address { address: "10.0.0.1" port_value: %d } } } } } } } `, port)
	}
	m := new(endpointv3.LbEndpointCollection)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		w.Fatal(err)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	w.plane.Set(listURL, memoryads.Resource{Name: name, Body: body, Wrapped: true})
}

// Calls of a channel reach the endpoints of a list collection, and follow its changes. An empty list makes its locality
// unreachable. The node tells the control plane that the client reads lists (A95).
func TestChannelFollowsLists(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		const list = "endpoints of c" // a name of the old style
		w.backend("10.0.0.1:1")
		w.backend("10.0.0.1:2")
		w.set(cluster.Type().URL(), new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } }`)
		w.setAs(endpoint.Type().URL(), "c", new(endpointv3.ClusterLoadAssignment), `cluster_name: "c" endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
			leds_cluster_locality_config { leds_config { self {} } leds_collection_name: %q } }`, list)
		w.list(list, 1)
		w.apiListener("svc", `route_config { virtual_hosts { domains: "svc" routes { match { prefix: "" } route { cluster: "c" } } } }`)
		connections := func(when string, one, two int64) {
			w.Helper()
			if x, y := w.sockets["10.0.0.1:1"].dialed.Load(), w.sockets["10.0.0.1:2"].dialed.Load(); x != one || y != two {
				w.Errorf("%s: %d connections to the first endpoint and %d to the second; want %d and %d", when, x, y, one, two)
			}
		}
		c := testpb.NewTestServiceClient(w.channelXDS("xds:///svc"))
		w.expect("a call", w.call(c, time.Second), codes.OK)
		connections("with the first endpoint", 1, 0)
		w.list(list, 2)
		w.pass(time.Second)
		w.expect("a call after a change", w.call(c, time.Second), codes.OK)
		connections("with the second endpoint", 1, 1)
		w.list(list)
		w.pass(time.Second)
		w.expect("a call without endpoints", w.call(c, time.Second), codes.Unavailable)
		w.list(list, 1, 2)
		w.pass(time.Second)
		w.expect("a call with both", w.call(c, time.Second), codes.OK)
		first, ok := w.plane.Requests()[0].(*discoveryv3.DiscoveryRequest)
		if features := first.GetNode().GetClientFeatures(); !ok || !slices.Contains(features, "xds.endpoint.supports_lb_endpoint_collection") {
			t.Errorf("the client features are %q", features)
		}
	})
}
