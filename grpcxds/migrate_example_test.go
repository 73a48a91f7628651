package grpcxds_test

import (
	"fmt"
	"log/slog"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// A channel that used grpc-go's xDS. Without control planes, it works as before.
func ExampleNewClient_migration() {
	cc, err := grpcxds.NewClient("xds:///checkout", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer cc.Close()
	checkout := healthpb.NewHealthClient(cc)
	_ = checkout
}

// A server that used xds.NewGRPCServer.
func ExampleNewServer() {
	s, err := grpcxds.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	healthpb.RegisterHealthServer(s, health.NewServer())
	lis, err := net.Listen("tcp4", "0.0.0.0:8080")
	if err != nil {
		panic(err)
	}
	panic(s.Serve(lis))
}

// A server with a callback for its mode.
func ExampleServerConfig_migration() {
	s, err := grpcxds.ServerConfig{
		ModeChanged: func(c grpcxds.ModeChange) { slog.Info("mode", "addr", c.Addr, "mode", c.Mode, "error", c.Err) },
	}.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	s.Stop()
}

// A program whose libraries call grpc.NewClient registers the scheme xds once, before the first channel.
func ExampleDialer_registerResolver() {
	grpcxds.Dialer{}.RegisterResolver()
	cc, err := grpc.NewClient("xds:///checkout", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	fmt.Println(cc.Target())
	_ = cc.Close()
}

// A program that passed its bootstrap to xds.NewXDSResolverWithConfigForTesting.
func ExampleDialer_bootstrap() {
	env, err := xdsforge.NewEnv(
		xdsforge.WithBootstrapFile("/etc/xds/bootstrap.json"),
		xdsforge.WithTypes(grpcxds.Register),
		xdsforge.WithLogger(slog.New(slog.NewJSONHandler(os.Stderr, nil))))
	if err != nil {
		panic(err) // names the file, each wrong field and its rule
	}
	defer env.Close()
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///checkout", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	fmt.Println(cc.Target())
	_ = cc.Close()
}
