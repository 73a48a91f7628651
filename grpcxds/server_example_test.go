package grpcxds_test

import (
	"fmt"
	"net"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// The server waits for its configuration. If the environment variables name a bootstrap, use
// NewServer without a ServerConfig.
func ExampleServerConfig() {
	config, err := bootstrap.Parse([]byte(`{
		"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}],
		"server_listener_resource_name_template": "server/%s"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer env.Close()

	told := make(chan grpcxds.Mode, 1)
	s, err := grpcxds.ServerConfig{
		Env:         env,
		ModeChanged: func(c grpcxds.ModeChange) { told <- c.Mode },
	}.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	healthpb.RegisterHealthServer(s, health.NewServer())
	lis, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // an example
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()

	fmt.Println(<-told) // no control plane runs at this address
	s.GracefulStop()
	fmt.Println(<-served)
	// Output:
	// not serving
	// <nil>
}
