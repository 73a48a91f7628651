// Command minimal prints each state of a cluster.
//
//	GRPC_XDS_BOOTSTRAP=bootstrap.json go run .
package main

import (
	"context"
	"log"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

func main() {
	c, err := xdsforge.New(xdsforge.WithTypes(cluster.Register))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for ev := range cluster.Watch(context.Background(), c, "checkout") {
		log.Println(ev)
	}
}
