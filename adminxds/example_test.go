package adminxds_test

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/adminxds"
)

func ExampleRegister() {
	s := grpc.NewServer()
	defer s.Stop()
	if err := adminxds.Register(s); err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.GetServiceInfo())) {
		fmt.Println(name)
	}
	// Output:
	// envoy.service.status.v3.ClientStatusDiscoveryService
	// grpc.channelz.v1.Channelz
	// grpc.health.v1.Health
}
