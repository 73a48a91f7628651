package grpcxds_test

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// The bootstrap must have control planes for the target. If the environment variables name a
// bootstrap, use NewClient without a Dialer.
func ExampleDialer() {
	config, err := bootstrap.Parse([]byte(`{
		"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}]}],
		"authorities": {"east.example": {}}
	}`))
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
	dialer := grpcxds.Dialer{Env: env}
	credentials := grpcxds.WithCredentials(insecure.NewCredentials())
	cc, err := dialer.NewClient("xds://east.example/checkout", credentials)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cc.Close()
	fmt.Println(cc.Target(), cc.GetState()) // the channel connects at the first call

	_, err = dialer.NewClient("xds://nowhere.example/checkout", credentials)
	fmt.Println(errors.Is(err, bootstrap.ErrUnknownAuthority))
	// Output:
	// xds://east.example/checkout IDLE
	// true
}

// NewClient replaces grpc.NewClient. Targets with other schemes need no bootstrap.
func ExampleNewClient() {
	cc, err := grpcxds.NewClient("dns:///checkout.example:80", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cc.Close()
	fmt.Println(cc.Target())
	// Output: dns:///checkout.example:80
}
