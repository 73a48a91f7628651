package cluster_test

import (
	"context"
	"fmt"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest"
)

// A watch yields each state of a cluster. The fake client stands for an xdsforge.Client.
func ExampleWatch() {
	c := xdstest.NewFake()
	xdstest.Emit(c, cluster.Type(), "checkout", cluster.Event{Update: &cluster.Update{MaxRequests: 100}})
	for ev := range cluster.Watch(context.Background(), c, "checkout") {
		switch {
		case ev.Err != nil:
			fmt.Println("no usable cluster:", ev.Err)
			return
		case ev.Changed:
			fmt.Println("at most", ev.Update.MaxRequests, "requests")
			xdstest.Emit(c, cluster.Type(), "checkout", cluster.Event{Err: xdsforge.ErrNotFound})
		}
	}
	// Output:
	// at most 100 requests
	// no usable cluster: does not exist
}
