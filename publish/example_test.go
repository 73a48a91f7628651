package publish_test

import (
	"context"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
)

// A resource that clients would reject never enters the store.
func ExampleNewChecked() {
	r := registry.New()
	cluster.Register(r)
	builtin.Register(r)
	types, err := r.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	store := publish.NewChecked(source.NewMemory(), types)
	c := eds("checkout")
	fmt.Println(cluster.Put(context.Background(), store, c))
	c.EdsClusterConfig = nil
	_, err = cluster.Put(context.Background(), store, c)
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// publish: "envoy.config.cluster.v3.Cluster" "checkout": eds_cluster_config.eds_config; must have exactly one of ads, self set when type is EDS (A47)
}
