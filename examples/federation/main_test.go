package main

import (
	"fmt"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest"
)

// limited returns a cluster with a limit.
func limited(limit uint32) *clusterv3.Cluster {
	c := new(clusterv3.Cluster)
	_ = prototext.Unmarshal(fmt.Appendf(nil, `name: "checkout" type: EDS eds_cluster_config { eds_config { ads {} } service_name: "checkout" }
		circuit_breakers { thresholds { max_requests { value: %d } } }`, limit), c)
	return c
}

// server returns the bootstrap entry of a control plane.
func server(t *testing.T, cp *xdstest.ControlPlane) bootstrap.ServerSpec {
	t.Helper()
	var s bootstrap.Spec
	if err := s.UnmarshalJSON(cp.BootstrapJSON()); err != nil {
		t.Fatal(err)
	}
	return s.Servers[0]
}

// TestFederation gives each of two authorities its own control plane. The first falls back to the
// second one's (gRFC A47, A71).
func TestFederation(t *testing.T) {
	east, west := xdstest.Start(t, cluster.Type()), xdstest.Start(t, cluster.Type())
	config, err := bootstrap.New(bootstrap.Spec{
		Node: &corev3.Node{Id: "shop-1"},
		Authorities: map[string]bootstrap.AuthoritySpec{
			"east.example": {Servers: []bootstrap.ServerSpec{server(t, east), server(t, west)}},
			"west.example": {Servers: []bootstrap.ServerSpec{server(t, west)}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	const inEast = "xdstp://east.example/envoy.config.cluster.v3.Cluster/checkout"
	const inWest = "xdstp://west.example/envoy.config.cluster.v3.Cluster/checkout"
	east.SetNamed(inEast, limited(7))
	west.SetNamed(inEast, limited(8)) // the backup has other values
	west.SetNamed(inWest, limited(9))

	for name, want := range map[string]uint32{inEast: 7, inWest: 9} {
		u, err := cluster.Get(t.Context(), c, name)
		if err != nil || u.MaxRequests != want {
			t.Errorf("%s = %v, %v; want the limit %d", name, u, err, want)
		}
	}

	east.Disconnect(nil)
	another := "xdstp://east.example/envoy.config.cluster.v3.Cluster/basket"
	west.SetNamed(another, limited(5))
	u, err := cluster.Get(t.Context(), c, another)
	if err != nil || u.MaxRequests != 5 {
		t.Errorf("%s = %v, %v; want the limit 5 of the backup", another, u, err)
	}
}
