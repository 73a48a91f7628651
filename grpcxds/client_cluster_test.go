package grpcxds_test

import (
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An aggregate cluster falls back to the next of its clusters, one of which is found by DNS (A37,
// A75).
func TestAggregateCluster(t *testing.T) {
	p, b := newPlane(t), newBackend(t, "b")
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("svc", to("all"))))
	p.set("all", new(clusterv3.Cluster), `name: "all" cluster_type { name: "aggregate" typed_config {
		[type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: ["closed", "dns"] } } }`)
	p.cluster("closed", "closed", &backend{port: 1})
	p.set("dns", new(clusterv3.Cluster), `name: "dns" type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints { endpoint {
		address { socket_address { address: "127.0.0.1" port_value: %d } } } } } }`, b.port)
	until(t, newChannel(t, newEnv(t, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry())), "xds:///svc"), "b")
}

// An unreachable authority affects only the calls to its clusters (A47, A74). The calls succeed
// once it is reachable.
func TestAuthorityIsLost(t *testing.T) {
	const far = "xdstp://far.example/envoy.config.cluster.v3.Cluster/far"
	near, other, b, c := newPlane(t), newPlane(t), newBackend(t, "b"), newBackend(t, "c")
	other.cluster(far, "xdstp://far.example/envoy.config.endpoint.v3.ClusterLoadAssignment/far", c)
	other.Stop()
	near.cluster("b", "b", b)
	near.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("svc", fmt.Sprintf(`routes { match { path: "/p.S/Far" } route { cluster: %q } } `, far)+to("b"))))
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "authorities": {"far.example": {"xds_servers": [%s]}}}`, near.entry(), other.entry())), "xds:///svc")
	if got, err := call(soon(t), cc, "/p.S/M"); got != "b" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := call(soon(t), cc, "/p.S/Far")
	for _, part := range []string{`target "xds:///svc"`, fmt.Sprintf("Cluster %q: control plane unreachable", far), "server " + other.Addr(), "node n"} {
		if status.Code(err) != codes.Unavailable || strings.Count(err.Error(), part) != 1 {
			t.Errorf("%v; want %q, once", err, part)
		}
	}
	if err := other.Restart(); err != nil {
		t.Fatal(err)
	}
	if got, err := call(soon(t), cc, "/p.S/Far", grpc.WaitForReady(true)); got != "c" {
		t.Errorf("%q, %v", got, err)
	}
}
