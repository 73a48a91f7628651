package registry_test

import (
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

func Example() {
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range types.All() {
		fmt.Println(t.Name)
	}
	// Output:
	// envoy.config.cluster.v3.Cluster
	// envoy.config.endpoint.v3.ClusterLoadAssignment
	// envoy.config.listener.v3.Listener
	// envoy.config.route.v3.RouteConfiguration
}

// A tag is the configuration of the filter acme.filters.http.Tag, which adds a header to calls. The
// control plane sends it as a TypedStruct.
type tag struct{ Header, Value string }

// Programs can register their own filters, without a protobuf message.
func ExampleRegistry_Extend() {
	reg := registry.New()
	standard.Register(reg)
	reg.Extend(&resource.HTTPFilter{
		Config: "acme.filters.http.Tag",
		Sides:  resource.ClientSide,
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			f := c.Fields.GetFields()
			if f["header"].GetStringValue() == "" {
				return nil, errors.New("must have a header")
			}
			return tag{f["header"].GetStringValue(), f["value"].GetStringValue()}, nil
		},
	})
	types, err := reg.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, known := types.HTTPFilter("acme.filters.http.Tag")
	fmt.Println("listeners may have the filter:", known)
	// Output: listeners may have the filter: true
}
