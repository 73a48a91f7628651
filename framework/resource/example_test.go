package resource_test

import (
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Decoders collect violations. Each has the path of the invalid value, the value and the rule.
func ExampleViolations() {
	var root *resource.Path
	var v resource.Violations
	for i, weight := range []int{3, 0} {
		if weight < 1 {
			endpoint := root.Item("endpoints", i)
			v.Add(endpoint.Field("weight"), weight, "must be at least 1")
		}
	}
	fmt.Println(v.Err())
	// Output: endpoints[1].weight = 0; must be at least 1
}

// The kind of an error tells the program how to react.
func ExampleError() {
	name, _ := xdstp.Parse("checkout")
	err := error(&resource.Error{Kind: resource.ErrRemoved, Type: "envoy.config.cluster.v3.Cluster", Name: name, Server: "xds.example:443"})
	fmt.Println(err)
	fmt.Println(errors.Is(err, resource.ErrNotFound), errors.Is(err, resource.ErrInvalid))
	// Output:
	// Cluster "checkout": removed by the control plane [server xds.example:443]
	// true false
}
