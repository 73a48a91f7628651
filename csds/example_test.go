package csds_test

import (
	"context"
	"fmt"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/csds"
)

func ExampleRegister() {
	s := grpc.NewServer() // serve it on loopback
	defer s.Stop()
	if err := csds.Register(s); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range s.GetServiceInfo()["envoy.service.status.v3.ClientStatusDiscoveryService"].Methods {
		fmt.Println(m.Name)
	}
	// Unordered output:
	// FetchClientStatus
	// StreamClientStatus
}

// A client prints why resources are not in use, without their contents.
func Example_client() {
	printReasons := func(ctx context.Context, cc *grpc.ClientConn) error {
		resp, err := statusv3.NewClientStatusDiscoveryServiceClient(cc).FetchClientStatus(ctx, &statusv3.ClientStatusRequest{ExcludeResourceContents: true})
		if err != nil {
			return err
		}
		for _, c := range resp.GetConfig() {
			for _, g := range c.GetGenericXdsConfigs() {
				fmt.Println(c.GetClientScope(), g.GetName(), g.GetClientStatus(), g.GetErrorState().GetDetails())
			}
		}
		return nil
	}
	_ = printReasons
}
