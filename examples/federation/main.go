// Command federation reads resources of two authorities (gRFC A47): a cluster of one, whose endpoints
// belong to the other.
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
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

const checkout = "xdstp://east.example/envoy.config.cluster.v3.Cluster/checkout"

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := xdsforge.New(xdsforge.WithTypes(cluster.Register, endpoint.Register))
	if err != nil {
		return err
	}
	defer c.Close()
	u, err := cluster.Get(ctx, c, checkout)
	if err != nil {
		return err
	}
	fmt.Println("cluster  ", u.Name())
	assignment, err := endpoint.Get(ctx, c, u.Discovery.(cluster.EDS).ServiceName)
	if err != nil {
		return err
	}
	fmt.Println("endpoints", assignment.Name())
	for _, l := range assignment.Localities {
		for _, e := range l.Endpoints {
			fmt.Println("         ", e.Address())
		}
	}
	return nil
}
