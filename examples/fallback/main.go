// Command fallback reads a cluster while its first control plane is unreachable. The second server of
// the bootstrap, a folder, answers instead (gRFC A71).
//
//	GRPC_XDS_BOOTSTRAP=bootstrap.json go run .
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

func main() {
	c, err := xdsforge.New(xdsforge.WithTypes(cluster.Register))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for ev := range cluster.Watch(ctx, c, "checkout") {
		if ev.Err != nil {
			fmt.Println("not yet:", ev.Err)
			continue
		}
		fmt.Println("at most", ev.Update.MaxRequests, "requests, from", ev.Update.Server().URI(), "as", ev.Origin)
		return
	}
}
