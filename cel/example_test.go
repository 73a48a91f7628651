package cel_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/cel"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/registry"
)

// A program that accepts CEL registers it beside the types of its channels and servers:
//
//	xdsforge.WithTypes(grpcxds.Register, cel.Register)
func ExampleRegister() {
	r := registry.New()
	grpcxds.Register(r)
	cel.Register(r)
	types, err := r.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	m, ok := types.InputMatcher("xds.type.matcher.v3.CelMatcher")
	fmt.Println(ok, m.Input)
	// Output: true xds.type.matcher.v3.HttpAttributesCelMatchInput
}
