package grpcxds_test

import (
	"fmt"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3" // for prototext
)

// An aggregate cluster goes on to the next of its clusters; one of them has its name
// resolved (A37, A75).
func TestAggregateCluster(t *testing.T) {
	p, b := newPlane(t), newBackend(t, "b")
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("svc", to("all"))))
	p.set("all", new(clusterv3.Cluster), `name: "all" cluster_type { name: "aggregate" typed_config {
		[type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: ["closed", "dns"] } } }`)
	p.cluster("closed", "closed", &backend{port: 1})
	p.set("dns", new(clusterv3.Cluster), `name: "dns" type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints { endpoint {
		address { socket_address { address: "127.0.0.1" port_value: %d } } } } } }`, b.port)
	until(t, newChannel(t, newPool(t, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry())), "xds:///svc"), "b")
}
