package standard_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// Register registers the types that gRPC needs, with the built-in extensions.
func ExampleRegister() {
	r := registry.New()
	standard.Register(r)
	types, err := r.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, ok := types.LBPolicy("envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash")
	fmt.Println(types.Len(), "types; clusters may use ring_hash:", ok)
	// Output: 4 types; clusters may use ring_hash: true
}
