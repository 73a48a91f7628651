package sourced_test

import (
	"context"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/sourced"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A client reads resources that the program commits, without a control plane.
func ExampleTransport() {
	ctx := context.Background()
	rules := source.NewMemory()
	m := new(clusterv3.Cluster)
	_ = protojson.Unmarshal([]byte(`{"name": "checkout", "type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}}}}`), m)
	body, _ := proto.Marshal(m)
	key := source.Key{Type: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Name: "checkout"}
	if _, err := rules.Commit(ctx, new(source.Tx).Put(source.Resource{Key: key, Body: body})); err != nil {
		fmt.Println(err)
		return
	}

	config, _ := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "memory:rules"}]}`))
	c, err := xdsforge.New(
		xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register),
		xdsforge.WithTransport(sourced.Transport(nil, sourced.Memory(map[string]*source.Memory{"rules": rules}))),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	u, err := cluster.Get(ctx, c, "checkout")
	fmt.Println(u.Name(), err)
	// Output: checkout <nil>
}
