package tree_test

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// A cluster, with the endpoints that it names.
func ExampleWatch() {
	c, err := newClient()
	if err != nil {
		fmt.Println(err)
		return
	}
	for s, err := range tree.Watch(context.Background(), c, cluster.Type(), "checkout") {
		if err != nil {
			fmt.Println(err)
			return
		}
		for ref, state := range s.All() {
			fmt.Println(ref, state.Err)
		}
		service, err := tree.Get[*endpoint.Update](s, endpoint.Type(), "eds")
		fmt.Println(len(service.Localities), "localities", err)
		break // which ends the subscriptions
	}
	fmt.Println(c.Close())
	// Output:
	// envoy.config.cluster.v3.Cluster checkout <nil>
	// envoy.config.endpoint.v3.ClusterLoadAssignment eds <nil>
	// 0 localities <nil>
	// <nil>
}

// newClient is a client whose control plane is in the same process.
func newClient() (*client.Client, error) {
	s := memoryads.NewServer(memoryads.Type{URL: cluster.TypeURL, Complete: true}, memoryads.Type{URL: endpoint.TypeURL})
	s.Set(cluster.TypeURL, text("checkout", new(clusterv3.Cluster), `name: "checkout" type: EDS eds_cluster_config { eds_config { self {} } service_name: "eds" }`))
	s.Set(endpoint.TypeURL, text("eds", new(endpointv3.ClusterLoadAssignment), `cluster_name: "eds"`))
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "memory:1", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		return nil, err
	}
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		return nil, err
	}
	return client.New(config, types, client.WithTransport(memoryads.Network{"memory:1": s}))
}

func text(name string, m proto.Message, text string) memoryads.Resource {
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		panic(err) // it is written above
	}
	body, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return memoryads.Resource{Name: name, Body: body}
}
