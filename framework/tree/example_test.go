package tree_test

import (
	"context"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// A client needs its listener with all that this refers to.
func ExampleWatch() {
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.New(config, types)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing listens there: this example only shows the calls
	for ev := range tree.Watch(ctx, c, listener.Type(), "web") {
		if ev.Err != nil {
			fmt.Println("no listener:", ev.Err)
			continue
		}
		for ref, state := range ev.Update.All() {
			fmt.Println(ref, state.Update, state.Err)
		}
	}
	fmt.Println("over")
	// Output: over
}
