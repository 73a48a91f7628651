package xdstest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest"
)

// limit is code under test. It returns the limit of concurrent calls of a cluster.
func limit(ctx context.Context, c resource.Client, name string) uint32 {
	u, err := cluster.Get(ctx, c, name)
	if errors.Is(err, xdsforge.ErrNotFound) {
		return 0
	}
	return u.MaxRequests
}

// Code that takes a resource.Client works with a Fake.
func ExampleEmit() {
	f := xdstest.NewFake()
	xdstest.Emit(f, cluster.Type(), "checkout", cluster.Event{Update: &cluster.Update{MaxRequests: 7}})
	fmt.Println(limit(context.Background(), f, "checkout"))

	xdstest.Emit(f, cluster.Type(), "checkout", cluster.Event{Err: xdsforge.ErrNotFound})
	fmt.Println(limit(context.Background(), f, "checkout"))
	// Output:
	// 7
	// 0
}

// A rejection names the violated rules.
func ExampleTryDecode() {
	c := eds("checkout", 7)
	c.EdsClusterConfig = nil
	_, err := xdstest.TryDecode(cluster.Type(), c)
	fmt.Println(err)
	// Output:
	// eds_cluster_config.eds_config; must have exactly one of ads, self set when type is EDS (A47)
}
