package status_test

import (
	"context"
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A program can print why a resource is not there.
func ExampleSnapshot() {
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "file:no-such-folder"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ev := range cluster.Watch(ctx, c, "checkout") { // until there is an error
		if ev.Err != nil {
			break
		}
	}
	snapshot, err := c.Snapshot(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range snapshot.Servers {
		fmt.Println(s.Entry.URI(), "connected:", s.Connected)
	}
	// Output: file:no-such-folder connected: false
}
