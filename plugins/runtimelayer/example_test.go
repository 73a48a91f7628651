package runtimelayer_test

import (
	"fmt"

	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/plugins/runtimelayer"
	"github.com/xdsforge/xdsforge/xdstest"
)

// The values of a layer have JSON's types.
func ExampleUpdate() {
	layer, err := structpb.NewStruct(map[string]any{"checkout.enabled": true, "checkout.limit": 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := xdstest.TryDecode(runtimelayer.Type(), &runtimev3.Runtime{Name: "flags", Layer: layer})
	if err != nil {
		fmt.Println(err)
		return
	}
	enabled, _ := u.Values["checkout.enabled"].(bool)
	limit, _ := u.Values["checkout.limit"].(float64)
	fmt.Println(enabled, limit)
	// Output: true 20
}
