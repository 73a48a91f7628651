// Command server is a gRPC server that a Listener in a folder configures (gRFC A36). With a control
// plane in bootstrap.json instead, not a line changes.
//
//	GRPC_XDS_BOOTSTRAP=bootstrap.json go run .
package main

import (
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsforge/xdsforge/grpcxds"
)

func main() {
	config := grpcxds.ServerConfig{ModeChanged: func(m grpcxds.ModeChange) {
		fmt.Println("the server at", m.Addr, "is", m.Mode, m.Err)
	}}
	// The Listener may configure TLS. This one does not, so the fallback applies.
	s, err := config.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	healthpb.RegisterHealthServer(s, health.NewServer())
	lis, err := net.Listen("tcp4", "127.0.0.1:50051")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(s.Serve(lis))
}
