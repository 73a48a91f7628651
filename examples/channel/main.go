// Command channel is a gRPC client whose channel is configured by the resources in a folder. With a
// control plane in bootstrap.json instead, not a line changes.
//
//	go run ../server &
//	GRPC_XDS_BOOTSTRAP=bootstrap.json go run .
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsforge/xdsforge/grpcxds"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	cc, err := grpcxds.NewClient("xds:///health", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	response, err := healthpb.NewHealthClient(cc).Check(ctx, new(healthpb.HealthCheckRequest), grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	fmt.Println("the server is", response.GetStatus())
	return nil
}
