package fault_test

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/fault"
)

// A channel does all of this itself. The example shows the effect of a Listener's configuration.
func ExampleFilter() {
	f := fault.Filter()
	fields, _ := structpb.NewStruct(map[string]any{"abort": map[string]any{
		"grpcStatus": 14, "percentage": map[string]any{"numerator": 100},
	}})
	config, err := f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		fmt.Println(err)
		return
	}
	instance, err := f.NewClient(httpfilter.Host{Name: "fault"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instance.Close()
	i, err := instance.Interceptor(config, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = i.(httpfilter.ClientBefore)(context.Background(), &httpfilter.ClientCall{Method: "/shop.Stock/Get"})
	fmt.Println(err)
	// Output: rpc error: code = Unavailable desc = fault: the control plane has the call fail
}
