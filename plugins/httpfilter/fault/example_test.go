package fault_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

func ExampleFilter() {
	f := fault.Filter()
	fields, _ := structpb.NewStruct(map[string]any{"abort": map[string]any{"http_status": 404.0, "percentage": map[string]any{"numerator": 5.0}}})
	config, err := f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	fmt.Printf("%+v %v\n", *config.(fault.Config).Abort, err)
	// Output: {PerMillion:50000 Code:12 FromHeaders:false Status:404 Unit:0} <nil>
}
