package grpcxds_test

import (
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// A channel needs a target that the bootstrap has control planes for. Programs that want
// nothing but what GRPC_XDS_BOOTSTRAP names need no pool.
func ExampleNewClient() {
	config, err := bootstrap.Parse([]byte(`{
		"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}]}],
		"authorities": {"east.example": {}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	pool, err := grpcxds.NewPool(grpcxds.WithBootstrap(config))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	credentials := grpc.WithTransportCredentials(grpcxds.TransportCredentials(insecure.NewCredentials()))
	cc, err := grpcxds.NewClient("xds://east.example/checkout", grpcxds.DialPool(pool), credentials)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cc.Close()
	fmt.Println(cc.Target(), cc.GetState()) // it connects with the first call

	_, err = grpcxds.NewClient("xds://nowhere.example/checkout", grpcxds.DialPool(pool), credentials)
	fmt.Println(errors.Is(err, bootstrap.ErrUnknownAuthority))
	// Output:
	// xds://east.example/checkout IDLE
	// true
}
