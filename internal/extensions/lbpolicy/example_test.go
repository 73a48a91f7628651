package lbpolicy_test

import (
	"encoding/json"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
	"github.com/xdsforge/xdsforge/registry"
)

func Example() {
	reg := registry.New()
	lbpolicy.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	config, _ := anypb.New(&roundrobinv3.RoundRobin{})
	policies, _ := proto.Marshal(&clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{
		{TypedExtensionConfig: &corev3.TypedExtensionConfig{TypedConfig: config}},
	}})
	dc := &resource.DecodeContext{Types: types}
	lb, err := dc.LBPolicy(policies)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := json.Marshal(lb)
	fmt.Println(string(text))
	// Output: [{"round_robin":{}}]
}
