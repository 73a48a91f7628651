package builtin_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/registry"
)

func ExampleRegister() {
	reg := registry.New()
	builtin.Register(reg)
	set, err := reg.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, ok := set.HTTPFilter("envoy.extensions.filters.http.router.v3.Router")
	fmt.Println("router:", ok)
	// Output: router: true
}
